package catalogue

import (
	"encoding/binary"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// question appends to buf what is asked of the directory, whatever is in it: which
// patterns can still match something there follows from them and its path.
func (v visit) question(buf []byte) []byte {
	buf = appendText(question(buf, askRemains), v.path)
	for _, l := range v.cursor {
		switch {
		case l.matched && l.exclude:
			buf = append(buf, '!')
		case l.matched:
			buf = append(buf, '+')
		default:
			buf = appendText(append(buf, '='), l.text)
		}
	}
	return buf
}

// How much is left of a directory.
const (
	leftNothing = iota
	leftAll     // the directory as it is
	leftPart
)

// keep puts what is left of a directory into the cache.
func (p *pruning) keep(v visit, r *remains) {
	if p.slots == nil {
		return
	}
	left := leftPart
	switch r.id {
	case "":
		left = leftNothing
	case v.id:
		left = leftAll
	}
	ok := true
	id := func(buf []byte, id source.ID) []byte {
		buf, is := appendID(buf, id)
		ok = ok && is
		return buf
	}
	buf := append(p.answer[:0], byte(left))
	if left == leftPart {
		buf = id(buf, r.id)
	}
	for _, n := range []int{r.files, r.entries, int(r.steps), r.cut, r.deep} {
		buf = binary.AppendUvarint(buf, uint64(n))
	}
	buf = appendTexts(buf, r.lfs)
	buf = binary.AppendUvarint(buf, uint64(len(r.special)))
	for _, s := range r.special {
		buf = appendText(binary.AppendUvarint(buf, uint64(s.Mode)), s.Name)
		buf = id(buf, s.ID)
		if s.Mode == source.ModeDir {
			buf = id(buf, s.whole)
		}
	}
	p.answer = buf
	if ok {
		p.slots.put(v.slot, v.id, buf)
	}
}

// recall returns what the cache has of a directory, nil if it has not all of it.
func (p *pruning) recall(v *visit) *remains {
	if p.slots == nil {
		return nil
	}
	p.asked = v.question(p.asked[:0])
	v.slot = slot(p.asked)
	answer, ok := p.slots.get(v.slot, v.id)
	if !ok {
		return nil
	}
	r := &remains{}
	switch answer.number() {
	case leftNothing:
	case leftAll:
		r.id = v.id
	case leftPart:
		r.id = answer.id()
	default:
		return nil
	}
	r.files, r.entries, r.steps = answer.number(), answer.number(), int64(answer.number())
	r.cut, r.deep = answer.number(), answer.number()
	r.lfs = answer.texts()
	for range answer.count() {
		var s special
		s.Mode, s.Name, s.ID = source.Mode(answer.number()), answer.text(), answer.id()
		if s.Mode == source.ModeDir {
			s.whole = answer.id()
			if s.inside = p.known(&visit{path: v.path + s.Name + "/", id: s.whole, cursor: v.child(s.Name)}); s.inside == nil {
				return nil
			}
		}
		r.special = append(r.special, s)
	}
	if !answer.done() {
		return nil
	}
	if r.id != "" && r.id != v.id {
		p.recalled.add(r, *v)
	}
	return r
}
