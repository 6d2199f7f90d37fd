// Package filesrecipe says what the recipe of an image of files makes of its inputs,
// and what keeps it from being built, which the tree and the recipe alone decide. The
// builder and the check of a catalogue go by it, so that they say the same.
package filesrecipe
