package catalogue

import (
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// askedImages says which images of a catalogue a change reaches. It is asked of
// one change after the other, in the order of their paths, and looks at a
// directory once, and there only at the images that have inputs in it, and only
// once at those whose patterns say the same of it.
type askedImages struct {
	images []Image
	texts  texts
	levels []askedLevel // the root and the directories of the last path
	// last are the images that were reached last from several groups: it is
	// often the same again.
	last    askedGroup
	indices []int
}

type askedLevel struct {
	name   string
	groups []*askedGroup
}

// askedGroup are images whose patterns say the same of a directory.
type askedGroup struct {
	cursor
	indices []int // sorted
	names   []string
}

func askImages(images []Image) *askedImages {
	a := &askedImages{images: images}
	var root askedLevel
	for i := range images {
		root.groups = append(root.groups, &askedGroup{cursor: a.texts.cursor(images[i].Inputs), indices: []int{i}})
	}
	a.levels = []askedLevel{root}
	return a
}

// reached returns the names of the images whose inputs hold the path, in the
// catalogue's order. A submodule is one already if a file in it may be. The
// caller must not modify them.
func (a *askedImages) reached(change source.Change) []string {
	dirs := strings.Split(change.Path, "/")
	name := dirs[len(dirs)-1]
	level := a.enter(dirs[:len(dirs)-1])
	submodule := change.Old.Mode == source.ModeSubmodule || change.New.Mode == source.ModeSubmodule
	var reached []*askedGroup
	for _, g := range level.groups {
		if g.file(name) || submodule && g.child(name).coverage() != NoneInside {
			reached = append(reached, g)
		}
	}
	switch len(reached) {
	case 0:
		return nil
	case 1:
		return a.names(reached[0])
	}
	a.indices = a.indices[:0]
	for _, g := range reached {
		a.indices = append(a.indices, g.indices...)
	}
	slices.Sort(a.indices)
	if !slices.Equal(a.indices, a.last.indices) {
		a.last = askedGroup{indices: slices.Clone(a.indices)}
	}
	return a.names(&a.last)
}

func (a *askedImages) names(g *askedGroup) []string {
	if g.names == nil {
		for _, i := range g.indices {
			g.names = append(g.names, a.images[i].Name)
		}
	}
	return g.names
}

// enter goes to a directory from the last one.
func (a *askedImages) enter(dirs []string) askedLevel {
	same := 0
	for same < len(dirs) && same+1 < len(a.levels) && a.levels[same+1].name == dirs[same] {
		same++
	}
	a.levels = a.levels[:same+1]
	for _, name := range dirs[same:] {
		a.levels = append(a.levels, a.levels[len(a.levels)-1].child(name))
	}
	return a.levels[len(a.levels)-1]
}

func (l askedLevel) child(name string) askedLevel {
	next := askedLevel{name: name}
	known := map[string]*askedGroup{} // by the cursor's key
	for _, g := range l.groups {
		inside := g.child(name)
		if inside.coverage() == NoneInside {
			continue
		}
		key := string(inside.key(nil))
		if same := known[key]; same != nil {
			same.indices = append(same.indices, g.indices...)
			continue
		}
		group := &askedGroup{cursor: inside, indices: slices.Clone(g.indices)}
		known[key] = group
		next.groups = append(next.groups, group)
	}
	for _, g := range next.groups {
		slices.Sort(g.indices)
	}
	return next
}
