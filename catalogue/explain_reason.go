package catalogue

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ReasonKind says what a reason is about.
type ReasonKind string

// The kinds of reason.
const (
	ReasonInput      ReasonKind = "input"      // a file that the image declares
	ReasonRecipe     ReasonKind = "recipe"     // what pharos.yaml says of the image, and the toolchain
	ReasonBase       ReasonKind = "base"       // an image of a registry that it is built on
	ReasonDependency ReasonKind = "dependency" // an image of the catalogue that it is built on
	ReasonBuilder    ReasonKind = "builder"    // the version of the builder
	ReasonSchema     ReasonKind = "schema"     // how fingerprints are computed
)

// Change says how something changed.
type Change string

// The changes of an input. ChangeAdded and ChangeRemoved are those of a whole
// image too.
const (
	ChangeAdded    Change = "added"
	ChangeRemoved  Change = "removed"
	ChangeModified Change = "modified" // another content, target of a link, or commit of a submodule
	ChangeMode     Change = "mode"     // whether it is executable
	ChangeType     Change = "type"     // file, symbolic link or submodule
	// ChangeForm is that of all inputs: the files are the same, but a directory is
	// written in another way, such as with the mode 100664, which git gives to no
	// file.
	ChangeForm Change = "form"
)

// Reason is one reason why an image changed.
type Reason struct {
	Kind ReasonKind `json:"kind"`
	// Path is the path of an input from the root of the tree. It is empty with
	// ChangeForm, and if the files of a side are not at hand: Old and New are the
	// IDs of the pruned trees then. Of another reason it is the file that says so, if that is not
	// pharos.yaml: a Dockerfile for what the image is built on, go.mod or go.work
	// for the toolchain.
	Path string `json:"path,omitempty"`
	// Change says how an input changed. A recipe with ChangeAdded or
	// ChangeRemoved is the whole image.
	Change Change `json:"change,omitempty"`
	// Field is where it stands below the image in pharos.yaml, such as
	// "build.go.ldflags". What a Dockerfile says is "base" or "frontend".
	Field string `json:"field,omitempty"`
	// Image is the name of the dependency.
	Image string `json:"image,omitempty"`
	// Old and New are the values on the two sides. They are nil where there is
	// none, and for a schema that this version does not know.
	Old *Value `json:"old,omitempty"`
	New *Value `json:"new,omitempty"`
	// Reasons say why a dependency changed.
	Reasons []Reason `json:"reasons,omitempty"`
}

// Value is a value of a recipe: a text or a list. In JSON it is a string or an
// array of strings.
type Value struct {
	Text string
	List []string // nil for a text
}

func text(s string) *Value { return &Value{Text: s} }

// String returns the text, or the list in brackets. A nil Value is "none".
func (v *Value) String() string {
	switch {
	case v == nil:
		return "none"
	case v.List != nil:
		var list []string
		for _, item := range v.List {
			list = append(list, oneLine(item))
		}
		return "[" + strings.Join(list, ", ") + "]"
	case v.Text == "":
		return `""`
	}
	return oneLine(v.Text)
}

// oneLine returns s, quoted if it holds what a terminal would not show as it is.
func oneLine(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return s
	}
	return strconv.Quote(s)
}

// String returns the path and what its change asks for, on one line.
func (p PathClass) String() string {
	class := string(p.Class)
	if len(p.Images) > 0 {
		class = "input of " + strings.Join(p.Images, ", ")
	}
	return oneLine(p.Path) + " (" + class + ")"
}

// MarshalJSON returns a string or an array.
func (v Value) MarshalJSON() ([]byte, error) {
	if v.List != nil {
		return json.Marshal(v.List)
	}
	return json.Marshal(v.Text)
}

// UnmarshalJSON takes a string or an array of strings.
func (v *Value) UnmarshalJSON(data []byte) error {
	*v = Value{}
	if len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, &v.List)
	}
	return json.Unmarshal(data, &v.Text)
}

// String says it in plain words, on one line, without the Reasons of a
// dependency.
func (r Reason) String() string {
	moved := fmt.Sprintf("%s → %s", r.Old, r.New)
	switch r.Kind {
	case ReasonInput:
		return r.input(moved)
	case ReasonBase:
		return r.base() + ": " + moved
	case ReasonDependency:
		return r.dependency(moved)
	case ReasonBuilder:
		return "the builder's version: " + moved
	case ReasonSchema:
		return r.schema()
	}
	switch {
	case r.Change == ChangeAdded:
		return "it is new in the catalogue"
	case r.Change == ChangeRemoved:
		return "it is gone from the catalogue"
	case r.Path != "":
		return oneLine(r.Field) + ": " + moved + ", by " + oneLine(r.Path)
	}
	return oneLine(r.Field) + ": " + moved
}

func (r Reason) input(moved string) string {
	switch {
	case r.Change == ChangeForm:
		return "its inputs: tree " + moved + ", which hold the same files, but one was not written as git writes it: with the mode 100664, say"
	case r.Path == "":
		return "its inputs: tree " + moved + ", which cannot be compared here"
	case r.Change == ChangeMode:
		return oneLine(r.Path) + " changed its mode"
	case r.Change == ChangeType:
		return oneLine(r.Path) + " changed its type"
	}
	return oneLine(r.Path) + " was " + string(r.Change)
}

func (r Reason) base() string {
	if r.Path != "" {
		return r.Field + " of " + oneLine(r.Path)
	}
	return "base, " + r.Field
}

func (r Reason) dependency(moved string) string {
	switch {
	case r.Image == "":
		return "what it is built on: " + moved
	case r.Old == nil:
		return "it is built on " + r.Image + " now"
	case r.New == nil:
		return "it is no longer built on " + r.Image
	}
	return "it is built on " + r.Image + ", which changed"
}

func (r Reason) schema() string {
	name := func(v *Value) string {
		if v == nil {
			return "a version that this one does not know"
		}
		return v.Text
	}
	return "how fingerprints are computed: " + name(r.Old) + " → " + name(r.New)
}
