package detect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

// chooseNames names the candidates, and drops those that are no images.
func (d *detection) chooseNames(context.Context) error {
	slices.SortFunc(d.candidates, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(a.dir, b.dir), cmp.Compare(a.kind, b.kind), cmp.Compare(a.path, b.path))
	})
	n := &naming{detection: d, taken: map[string]bool{}}
	if err := n.explicit(); err != nil {
		return err
	}
	for _, image := range d.named {
		n.manifest(image)
	}
	n.guess()
	return nil
}

// findRepository finds a name for what lies at the root.
func (d *detection) findRepository(ctx context.Context) error {
	d.repository, d.repositoryWhy = cmp.Or(sanitize(d.options.Repository), "app"), "a guess from the repository's name"
	for _, file := range []string{"pyproject.toml", "package.json", "go.mod"} {
		if !d.isFile[file] {
			continue
		}
		data, err := d.read(ctx, file)
		if err != nil {
			return err
		}
		name := ""
		switch file {
		case "pyproject.toml":
			if found := pythonName.FindSubmatch(data); found != nil {
				name = string(found[1])
			}
		case "package.json":
			name = parsePackageJSON(data).Name
		case "go.mod":
			name, _, _ = module.SplitPathVersion(modfile.ModulePath(data))
		}
		if name = sanitize(path.Base(name)); name != "" {
			d.repository, d.repositoryWhy = name, "a guess from "+file
		}
	}
	return nil
}

// pythonName is the name of a project in a pyproject.toml: the first one there is
// the project's in every layout that its tools write.
var pythonName = lazyregexp.New(`(?m)^name\s*=\s*["']([^"'\n]+)["']`)

// naming gives names, none of them twice.
type naming struct {
	*detection
	taken map[string]bool
}

func (n *naming) give(c *candidate, name, why string) {
	c.name, c.why = name, why
	n.taken[name] = true
}

func (n *naming) explicit() error {
	for _, at := range slices.Sorted(maps.Keys(n.options.Names)) {
		name, where := n.options.Names[at], path.Clean(at)
		i := slices.IndexFunc(n.candidates, func(c *candidate) bool { return c.name == "" && (where == c.dir || where == c.path) })
		switch {
		case i < 0:
			var all []string
			for _, c := range n.candidates {
				all = append(all, c.path)
			}
			return fmt.Errorf("%w: the name %s is for %s, where there is no Go program and no Dockerfile; found: %s", ErrOption, name, at, cmp.Or(strings.Join(all, ", "), "none at all"))
		case sanitize(name) != name:
			return fmt.Errorf("%w: %q is no name of an image: lower-case letters and digits, with '.', '_' or '-' between them", ErrOption, name)
		case n.taken[name]:
			return fmt.Errorf("%w: the name %s is given twice", ErrOption, name)
		}
		n.give(n.candidates[i], name, "as asked for")
	}
	return nil
}

// manifest gives the name that a manifest has for an image to the candidate whose
// folder is named so, or as no other one has it in its name.
func (n *naming) manifest(image namedImage) {
	name := path.Base(image.name)
	if n.taken[name] || sanitize(name) != name {
		return
	}
	best, rank, several := (*candidate)(nil), alikeRank, false
	for _, c := range n.candidates {
		if c.name != "" {
			continue
		}
		i := slices.Index(n.aliases(c), name)
		if i < 0 && !auxiliary(c.dir) && alike(n.aliases(c)[0], name) {
			i = alikeRank
		}
		switch {
		case i < 0 || i > rank:
		case best == nil || i < rank:
			best, rank, several = c, i, false
		default:
			several = true
		}
	}
	if best == nil || several {
		return
	}
	n.give(best, name, "the one in "+image.from)
	if name != image.name {
		n.note("%s names the image %s: write %s there, so that its digest is set", image.from, image.name, name)
	}
}

// alikeRank is behind those of all aliases.
const alikeRank = 1 << 10

// alike says whether one of two names is a word of the other: the image shop-api
// is built in the folder api, the image pharos in kubectl-pharos.
func alike(a, b string) bool {
	words := func(s string) []string { return strings.FieldsFunc(s, isJoint) }
	return slices.Contains(words(a), b) || slices.Contains(words(b), a)
}

func isJoint(r rune) bool { return r == '-' || r == '_' || r == '.' }

// guess names the others by their folders.
func (n *naming) guess() {
	var aside []string
	for _, c := range n.candidates {
		if c.name == "" && auxiliary(c.dir) {
			n.left = true
			aside = append(aside, c.path)
			continue
		}
		n.images = append(n.images, c)
		if c.name != "" {
			continue
		}
		aliases := n.aliases(c)
		i := slices.IndexFunc(aliases, func(name string) bool { return !n.taken[name] })
		for number := 2; i < 0; number++ {
			if name := fmt.Sprintf("%s-%d", aliases[0], number); !n.taken[name] {
				aliases, i = []string{name}, 0
			}
		}
		why := n.guessedFrom(c)
		if len(n.named) > 0 {
			why += "; no kustomization names such an image"
		}
		n.give(c, aliases[i], why)
	}
	if len(aside) > 0 {
		n.note("No image of %s: by its folder's name it helps with the development", strings.Join(aside, ", "))
	}
}

// aliases are the names that a candidate may have, the best first.
func (n *naming) aliases(c *candidate) []string {
	parts := folderParts(c.dir)
	own := ownName(c)
	if own != "" {
		if len(parts) == 0 && isVariant(own) {
			parts = append(parts, n.repository)
		}
		parts = append(parts, own)
	}
	if len(parts) == 0 {
		return []string{n.repository}
	}
	var aliases []string
	first := len(parts) - 1
	if isVariant(own) {
		first-- // "dev" alone says nothing
	}
	for i := first; i >= 0; i-- {
		aliases = append(aliases, sanitize(strings.Join(parts[i:], "-")))
	}
	aliases = append(aliases, sanitize(n.repository+"-"+parts[len(parts)-1]))
	return slices.DeleteFunc(aliases, func(name string) bool { return name == "" })
}

// folderParts are the folders on the way whose names say what an image is.
func folderParts(dir string) []string {
	return slices.DeleteFunc(strings.Split(dir, "/"), func(part string) bool {
		switch part {
		case ".", "cmd", "src", "main", "docker", "build", "dockerfiles", "deploy":
			return true
		}
		return false
	})
}

// ownName is what a Dockerfile's own name says: "worker" of worker.Dockerfile and
// of Dockerfile.worker.
func ownName(c *candidate) string {
	if c.kind != catalogue.BuildDockerfile {
		return ""
	}
	base := path.Base(c.path)
	name := strings.TrimPrefix(strings.TrimPrefix(base, "Dockerfile"), ".")
	if name == base || name == "" {
		name = strings.TrimSuffix(strings.TrimSuffix(base, ".Dockerfile"), ".dockerfile")
	}
	if name == "Dockerfile" || name == "Containerfile" {
		return ""
	}
	return name
}

// isVariant says whether a name is for one of several builds of the same image.
func isVariant(name string) bool {
	switch strings.ToLower(name) {
	case "dev", "devel", "development", "prod", "production", "release", "debug", "test", "testing", "ci", "local", "staging", "alpine", "slim":
		return true
	}
	return false
}

// guessedFrom says what a guessed name comes from, as the rest of a sentence.
func (n *naming) guessedFrom(c *candidate) string {
	switch own := ownName(c); {
	case own != "" && isVariant(own):
		return "a guess from the names of the Dockerfile and of where it lies"
	case own != "":
		return "a guess from the Dockerfile's name"
	case len(folderParts(c.dir)) == 0:
		return n.repositoryWhy
	}
	return "a guess from the folder's name"
}

var notInNames = lazyregexp.New(`[^a-z0-9]+`)

// sanitize makes a name of an image of a text; "" if nothing is left of it.
func sanitize(s string) string {
	const longest = 60
	s = strings.ToLower(s)
	if valid.MatchString(s) && len(s) <= longest {
		return s
	}
	s = strings.Trim(notInNames.ReplaceAllString(s, "-"), "-")
	return strings.Trim(s[:min(len(s), longest)], "-")
}

var valid = lazyregexp.New(`^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$`)

// packageJSON is what is looked at of a package.json.
type packageJSON struct {
	Name    string
	Scripts map[string]string
}

// parsePackageJSON reads what it can; what is no JSON has no scripts.
func parsePackageJSON(data []byte) packageJSON {
	var raw struct {
		Name    any            `json:"name"`
		Scripts map[string]any `json:"scripts"`
	}
	_ = json.Unmarshal(data, &raw) // fields of another type are left out
	var p packageJSON
	p.Name, _ = raw.Name.(string)
	for name, script := range raw.Scripts {
		if text, ok := script.(string); ok {
			if p.Scripts == nil {
				p.Scripts = map[string]string{}
			}
			p.Scripts[name] = text
		}
	}
	return p
}
