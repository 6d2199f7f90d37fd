package render

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/lazyregexp"
	"github.com/pharos-dev/pharos/internal/strictyaml"
)

// explain says what kustomize did not like. Where a file cannot be parsed the
// file itself is asked, since kustomize's message is about everything it tried
// to do with it; else it is kustomize's message, with the paths of the tree
// and without values of Secrets.
func (s *scanner) explain(err error) error {
	var problems []error
	seen := map[string]bool{}
	for _, m := range s.manifests {
		if seen[m.path] {
			continue
		}
		seen[m.path] = true
		if _, err := s.factory.RF().SliceFromBytes(m.content); err != nil {
			problems = append(problems, manifestProblem(m, err))
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	msg := err.Error()
	for _, root := range []string{".." + treeRoot + "/", treeRoot + "/"} {
		msg = strings.ReplaceAll(msg, root, "")
	}
	msg = addressOf.ReplaceAllString(msg, "a generator")
	for _, secret := range append(s.secrets, s.secretValues()...) {
		if len(secret) > 2 { // shorter ones are in every message
			msg = strings.ReplaceAll(msg, secret, "[redacted]")
		}
	}
	if strings.Contains(msg, "already registered id") {
		return fmt.Errorf("%w: %s", ErrDuplicate, msg)
	}
	return errors.New(msg)
}

// addressOf is how kustomize names a generator: by where it is in memory, which is
// another place each time.
var addressOf = lazyregexp.New(`generator &\{0x[^}]*\}`)

// manifestProblem says what is wrong with a file of objects, and where. It
// splits the file as kustomize does, whose lines count from the last split.
func manifestProblem(m manifest, err error) *Problem {
	p := &Problem{File: m.path, Err: err}
	text := strings.ReplaceAll(string(m.content), "\r\n", "\n")
	begin := 0
	for _, at := range append(separator.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		above := strings.Count(text[:begin], "\n")
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte(text[begin:at[0]]), &doc); err != nil {
			line, err := lineOf(err)
			p.Err = err
			if line > 0 {
				p.Line = above + line
			}
			return p
		}
		var o struct {
			Kind     string
			Metadata struct {
				Name         string
				GenerateName string `yaml:"generateName"`
			}
		}
		if doc.Decode(&o) == nil && o.Kind != "" && o.Metadata.Name == "" && !strings.HasSuffix(o.Kind, "List") {
			p.Line, p.Field = above+doc.Content[0].Line, "metadata.name"
			p.Err = fmt.Errorf("a %s without a name: %w", o.Kind, ErrUnnamed)
			if o.Metadata.GenerateName != "" {
				p.Field, p.Entry = "metadata.generateName", o.Metadata.GenerateName
			}
			return p
		}
		begin = at[1]
	}
	return p
}

// maxNearby bounds the overlays that are named when one is not there.
const maxNearby = 10

// nearby names the folder with a kustomization that is spelt nearly like the
// overlay, and those beside where an overlay was
// looked for, or in the nearest folder above that is there.
func nearby(t *tree, overlay string) string {
	for dir := path.Dir(overlay); ; dir = path.Dir(dir) {
		if found := kustomizations(t, dir); len(found) > 0 {
			meant, more := "", ""
			if near := strictyaml.Nearest(overlay, found); near != "" {
				meant = "Did you mean " + near + "? "
			}
			if len(found) > maxNearby {
				found, more = found[:maxNearby], ", …"
			}
			return meant + "There are: " + strings.Join(found, ", ") + more + "."
		}
		if dir == "." {
			return ""
		}
	}
}

// kustomizations are the folders with a kustomization in dir and one below.
func kustomizations(t *tree, dir string) []string {
	var found []string
	for _, child := range children(t, dir) {
		if t.hasKustomization(child) {
			found = append(found, child)
			continue
		}
		for _, grandchild := range children(t, child) {
			if t.hasKustomization(grandchild) {
				found = append(found, grandchild)
			}
		}
	}
	return found
}

func children(t *tree, dir string) []string {
	n, err := t.resolve(dir)
	if err != nil || !n.isDir() {
		return nil
	}
	entries, err := t.dir(n.entry.ID)
	if err != nil {
		return nil
	}
	var dirs []string
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if entries[name].Mode == source.ModeDir {
			dirs = append(dirs, path.Join(dir, name))
		}
	}
	return dirs
}

func (t *tree) hasKustomization(dir string) bool {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if n, err := t.resolve(path.Join(dir, name)); err == nil && !n.isDir() {
			return true
		}
	}
	return false
}
