package render

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

var (
	// ErrRemote is returned for an entry that names something outside of the
	// commit: a URL, a Git repository, a file in Git LFS. Nothing of it was
	// fetched.
	ErrRemote = errors.New("it is not in the commit, and nothing is fetched")
	// ErrOutside is returned for a path or a symbolic link that leaves the tree.
	ErrOutside = errors.New("it leads out of the commit's tree")
	// ErrHelm is returned for a kustomization that inflates a helm chart.
	ErrHelm = errors.New("helm charts are not rendered")
	// ErrPlugin is returned for a generator, transformer or validator that is
	// not built into kustomize.
	ErrPlugin = errors.New("only the generators and transformers that are built into kustomize are run")
	// ErrTooLarge is returned for a file, an overlay or a YAML document that
	// exceeds what is read.
	ErrTooLarge = errors.New("too large")
	// ErrCycle is returned for kustomizations, symbolic links, YAML aliases or
	// schemas that lead back to themselves.
	ErrCycle = errors.New("cycle")
	// ErrDuplicate is returned for two objects of the same group, kind,
	// namespace and name.
	ErrDuplicate = errors.New("declared twice")
	// ErrUnnamed is returned for an object without a name, such as one with
	// generateName.
	ErrUnnamed = errors.New("objects need a name of their own")
	// ErrRenamed is returned for an images entry that gives an image of the
	// request another name: then another image would be delivered in its place.
	ErrRenamed = errors.New("another image would be delivered in its place")
)

// advice is what to do about an error, by its sentinel.
var advice = []struct {
	is   error
	text string
}{
	{ErrRemote, "Copy what it names into the repository, at a version of your choice, and name that path."},
	{ErrOutside, "Name a path inside the repository."},
	{ErrHelm, "Render the chart into the repository (helm template) and list the files it wrote under resources."},
	{ErrPlugin, "Commit what the plugin generates, or use patches, replacements or components."},
	{ErrCycle, "Take out the entry that leads back."},
	{ErrTooLarge, "Split it, or keep it out of the overlay."},
	{ErrUnnamed, "Give the object metadata.name: what is applied again and again needs a name that stays."},
	{ErrRenamed, "Take newName and newTag out: the repository and the digest of the catalogue's images are set when they are delivered. An image that is built elsewhere does not belong into the catalogue."},
	{ErrDuplicate, "Keep one of the two."},
	{ErrPlainSecret, "Keep the values in a store, or encrypted, and only their names in Git: SealedSecret, ExternalSecret, SOPS. Values that anybody may read are declared so by the annotation " +
		keys.SecretValues + ": " + keys.SecretValuesHarmless + " on the Secret. What was pushed once is known: replace it."},
	{source.ErrNotFound, "Commit the file, or correct the entry: only what is in the commit is rendered."},
}

// adviceFor says what to do about everything that an error joins, in one line.
func adviceFor(err error) string {
	var all []string
	for _, a := range advice {
		if errors.Is(err, a.is) {
			all = append(all, a.text)
		}
	}
	return strings.Join(all, " ")
}

// Problem is one thing in the commit that keeps an overlay from being
// rendered. Several of them are joined with errors.Join.
type Problem struct {
	File  string // its path in the tree
	Line  int    // 1 is the first; 0 if it is not known
	Field string // "resources[2]"; empty if it is about the file as a whole
	Entry string // the field's value, if it is a short one; addresses without credentials
	Err   error  // why
}

func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	if p.Field != "" {
		b.WriteString(": " + p.Field)
	}
	if p.Entry != "" {
		fmt.Fprintf(&b, ": %q", p.Entry)
	}
	fmt.Fprintf(&b, ": %v", p.Err)
	return b.String()
}

// Unwrap returns why.
func (p *Problem) Unwrap() error { return p.Err }

// maxEntry keeps an inline patch that is mistaken for a path from filling the
// screen.
const maxEntry = 200

var userInfo = lazyregexp.New(`//[^/@\s]*@`)

// shown is an entry as messages show it: short, and without what could be a
// credential in an address, which are the user and the query.
func shown(entry string) string {
	if remote(entry) {
		entry, _, _ = strings.Cut(entry, "?")
		entry = userInfo.ReplaceAllString(entry, "//")
	}
	if len(entry) > maxEntry {
		entry = strings.ToValidUTF8(entry[:maxEntry], "") + "…"
	}
	return entry
}
