package dockerfile

import (
	"fmt"
	"maps"
	"slices"

	"github.com/moby/buildkit/frontend/dockerfile/shell"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

// variable is the value of an argument or of an environment variable, or why a
// Dockerfile alone does not tell it.
type variable struct{ value, unknown string }

// environment is what words are expanded with.
type environment struct {
	vars map[string]variable
	// image is the reference of the base image, which may set any variable that
	// is not among vars; "" if there is none.
	image string
}

func (e environment) get(name string) (v variable, ok bool) {
	if v, ok := e.vars[name]; ok {
		return v, true
	}
	if e.image != "" {
		return variable{unknown: fmt.Sprintf("depends on %s, which the base image %s may set", name, e.image)}, true
	}
	return variable{}, false
}

// expander expands words as BuildKit does.
type expander struct {
	lex   *shell.Lex
	spent int // bytes
}

func newExpander(escape rune) expander { return expander{lex: shell.NewLex(escape)} }

// expansion is an expanded word.
type expansion struct {
	variable
	unset []string // the names that have no value, sorted
}

// expand expands a word. The error is BuildKit's, or that it became too long.
func (x *expander) expand(word string, env environment) (expansion, error) {
	if len(word) > maxWord {
		return expansion{}, fmt.Errorf("a word has %d bytes, at most %d are expanded", len(word), maxWord)
	}
	g := getter{env: env, size: len(word), replaces: replacesAll.MatchString(word), product: 1}
	g.nests = g.replaces && nests.MatchString(word)
	r, err := x.lex.ProcessWordWithMatches(word, &g)
	switch {
	case g.tooLong || len(r.Result) > maxWord:
		return expansion{}, fmt.Errorf("its arguments expand to more than %d bytes", maxWord)
	case err != nil && len(g.unknown) == 0:
		return expansion{}, fmt.Errorf("%s", firstOf(err))
	}
	if x.spent += len(word) + len(r.Result); x.spent > maxExpanded {
		return expansion{}, fmt.Errorf("the arguments of the Dockerfile expand to more than %d bytes", maxExpanded)
	}
	e := expansion{variable: variable{value: r.Result}}
	if len(g.unknown) > 0 {
		e.variable = variable{unknown: g.unknown[0]}
	}
	for name := range r.Unmatched {
		if !slices.Contains(g.names, name) {
			e.unset = append(e.unset, name)
		}
	}
	slices.Sort(e.unset)
	return e, nil
}

// getter gives BuildKit's lexer the values, and stops giving where they would
// become too long: each of them may hold several others.
type getter struct {
	env             environment
	size            int      // of the word, in bytes
	replaces, nests bool     // what the word's expansions do, see grows
	unknown         []string // why values that the word uses are not known
	names           []string // of those values
	read            int      // bytes
	product         float64
	tooLong         bool
}

var _ shell.EnvGetter = (*getter)(nil)

func (g *getter) Keys() []string { return slices.Collect(maps.Keys(g.env.vars)) }

func (g *getter) Get(name string) (string, bool) {
	v, ok := g.env.get(name)
	if v.unknown != "" {
		g.unknown, g.names = append(g.unknown, v.unknown), append(g.names, name)
		return "", false
	}
	if g.read += len(v.value); g.read > maxWord || g.grows(len(v.value)) {
		g.tooLong = true
		return "", false
	}
	return v.value, ok
}

var (
	replacesAll = lazyregexp.New(`\$\{[^{}/]*//`)
	nests       = lazyregexp.New(`\$\{[^}]*\$`)
)

// grows says whether the word may come to more than maxProduct bytes with a
// further value of n: in ${name//pattern/replacement}, each byte of a value may
// become a replacement, which may hold such an expansion itself.
func (g *getter) grows(n int) bool {
	if !g.replaces {
		return false
	}
	size := float64(g.read+1) * float64(g.size)
	if g.nests {
		g.product *= float64(n + 1)
		size = g.product * float64(g.size)
	}
	return size > maxProduct
}
