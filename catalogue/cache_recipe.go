package catalogue

import "encoding/binary"

// recipeQuestion is what is asked of a pruned tree: what its image is built with
// and on. Of a recipe that is all right, the files that say so are among the
// inputs: the whole tree has no part in the answer.
func recipeQuestion(i *Image) []byte {
	buf := appendTexts(question(nil, askRecipe), i.Inputs.Strings())
	return appendBuild(appendTexts(buf, i.sortedPlatforms()), i.Build)
}

// keepRecipe puts what a candidate is built with and on into the cache.
func (w *walker) keepRecipe(c *candidate) {
	if w.slots == nil {
		return
	}
	buf := appendText(nil, c.toolchain)
	buf = appendText(buf, c.basis.frontend)
	buf = binary.AppendUvarint(buf, uint64(len(c.basis.bases)))
	for _, of := range c.basis.bases {
		buf = appendTexts(appendText(buf, of.platform), of.refs)
	}
	buf = binary.AppendUvarint(buf, uint64(len(c.basis.triggers)))
	for _, t := range c.basis.triggers {
		buf = appendText(appendText(buf, t.at), t.instruction)
	}
	w.slots.put(slot(recipeQuestion(&c.Image)), c.Inputs.ID, buf)
}

// recallRecipe fills in what a candidate is built with and on, if the cache knows
// it.
func (w *walker) recallRecipe(c *candidate) bool {
	if w.slots == nil {
		return false
	}
	answer, ok := w.slots.get(slot(recipeQuestion(&c.Image)), c.Inputs.ID)
	if !ok {
		return false
	}
	toolchain, built := answer.text(), basis{frontend: answer.text()}
	for range answer.count() {
		built.bases = append(built.bases, basesOf{platform: answer.text(), refs: answer.texts()})
	}
	for range answer.count() {
		built.triggers = append(built.triggers, trigger{at: answer.text(), instruction: answer.text()})
	}
	if !answer.done() {
		return false
	}
	c.toolchain, c.basis, c.unread = toolchain, built, false
	return true
}
