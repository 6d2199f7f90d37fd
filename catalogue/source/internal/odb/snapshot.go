package odb

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
)

// snapshot is which packs there were at some time.
type snapshot struct {
	dirs []*packDir
	last atomic.Pointer[pack] // in which an object was found last
}

// packDir is the folder pack of a folder of objects.
type packDir struct {
	packs []*pack
	multi *multiIndex // nil if there is none that can be read
	file  *file       // of multi
	// listed are multi's packs by their numbers, nil where one is no more;
	// others are those that it does not list.
	listed, others []*pack
	// small are asked first: their indexes are kept in memory, and what is
	// newest is there.
	small []*pack
}

// list lists the packs of a folder. Those that were there before are kept, with
// what is open of them.
func list(dir string, all *files, format Format, before *packDir) (*packDir, error) {
	dir = filepath.Join(dir, "pack")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	old := map[string]*pack{}
	if before != nil {
		for _, p := range before.packs {
			old[p.name] = p
		}
	}
	names := map[string]os.DirEntry{}
	for _, e := range entries {
		names[e.Name()] = e
	}
	d := &packDir{}
	byName := map[string]*pack{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".idx")
		if !ok || names[name+".pack"] == nil {
			continue
		}
		p := old[name]
		if p == nil || p.changed() {
			p = newPack(all, dir, name, format)
		} else {
			delete(old, name)
		}
		d.packs, byName[name] = append(d.packs, p), p
	}
	for _, p := range old {
		p.close()
	}
	d.others = d.packs
	d.findSmall(names)
	if before != nil && before.file != nil {
		all.remove(before.file)
	}
	if names["multi-pack-index"] != nil {
		d.openMulti(&file{files: all, path: filepath.Join(dir, "multi-pack-index")}, format, byName)
	}
	return d, nil
}

// findSmall finds packs that a fetch or a day's work brings: what grows with
// history is large.
func (d *packDir) findSmall(names map[string]os.DirEntry) {
	small := func(name string, size int64) bool {
		info, err := names[name].Info()
		return err == nil && info.Size() <= size
	}
	for _, p := range d.packs {
		if len(d.small) < maxSmall && small(p.name+".idx", smallIndex) && small(p.name+".pack", smallPack) {
			d.small = append(d.small, p)
			p.data.kept.CompareAndSwap(nil, new(kept))
		}
	}
}

// openMulti takes a multi-pack-index as one that can be done without: every pack
// has an index of its own.
func (d *packDir) openMulti(f *file, format Format, byName map[string]*pack) {
	size, err := f.size()
	if err != nil {
		return
	}
	m, err := openMultiIndex(f, size, format)
	if err != nil {
		f.files.remove(f)
		return
	}
	listed := map[*pack]bool{}
	for _, name := range m.packs {
		d.listed = append(d.listed, byName[name])
		listed[byName[name]] = true
	}
	d.multi, d.file, d.others = m, f, nil
	for _, p := range d.packs {
		if !listed[p] {
			d.others = append(d.others, p)
		}
	}
}

// location is where an object may be.
type location struct {
	pack *pack
	at   int64
}

// first returns the first place that find would, if there is no error on the way.
func (s *snapshot) first(id ID) (location, bool) {
	last := s.last.Load() // most objects lie beside the one that was read before
	for _, d := range s.dirs {
		for _, p := range d.small {
			if at, ok, err := p.find(id); ok && err == nil {
				return location{p, at}, true
			}
		}
		if d.multi != nil {
			if p, at := d.ask(id); p != nil {
				return location{p, at}, true
			}
		}
		if last != nil && slices.Contains(d.others, last) {
			if at, ok, err := last.find(id); ok && err == nil {
				return location{last, at}, true
			}
		}
		for _, p := range d.others {
			if p == last {
				continue
			}
			at, ok, err := p.find(id)
			if err != nil {
				return location{}, false
			}
			if ok {
				s.last.Store(p)
				return location{p, at}, true
			}
		}
	}
	return location{}, false
}

// find calls f with the places where packs hold an object, until f returns true.
// With every it asks the index of every pack, else first those that probably
// know. It returns the first error, and looks on in spite of it.
func (s *snapshot) find(id ID, every bool, f func(location) bool) error {
	var failed error
	in := func(p *pack) bool {
		at, ok, err := p.find(id)
		if err != nil && failed == nil {
			failed = err
		}
		return ok && err == nil && f(location{p, at})
	}
	for _, d := range s.dirs {
		packs := d.packs
		if d.multi != nil && !every {
			packs = d.others
			if p, at := d.ask(id); p != nil && f(location{p, at}) {
				return failed
			}
		}
		if slices.ContainsFunc(packs, in) {
			return failed
		}
	}
	return failed
}

// ask asks the multi-pack-index. One that is damaged knows nothing.
func (d *packDir) ask(id ID) (*pack, int64) {
	n, ok, err := d.multi.find(id)
	if !ok || err != nil {
		return nil, 0
	}
	number, at, err := d.multi.place(n)
	if err != nil || d.listed[number] == nil {
		return nil, 0
	}
	return d.listed[number], at
}
