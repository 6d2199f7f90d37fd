package catalogue

import (
	"encoding/binary"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// pointersQuestion is what is asked of a pruned tree: whether none of the files
// that the patterns match is a Git LFS pointer.
func pointersQuestion(lines []pattern) []byte {
	return appendTexts(question(nil, askPointers), Patterns{lines}.Strings())
}

// recallNoPointers returns what it took to look for them, nil if the cache does
// not know that there is none.
func (p *pruning) recallNoPointers(pruned source.ID, lines []pattern) *pointers {
	if p.slots == nil {
		return nil
	}
	answer, ok := p.slots.get(slot(pointersQuestion(lines)), pruned)
	none := &pointers{entries: answer.number(), steps: int64(answer.number())}
	if !ok || !answer.done() {
		return nil
	}
	return none
}

func (p *pruning) keepNoPointers(pruned source.ID, lines []pattern, none *pointers) {
	if p.slots == nil {
		return
	}
	answer := binary.AppendUvarint(nil, uint64(none.entries))
	p.slots.put(slot(pointersQuestion(lines)), pruned, binary.AppendUvarint(answer, uint64(none.steps)))
}
