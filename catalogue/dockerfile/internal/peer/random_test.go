package peer

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pharos-dev/pharos/catalogue/dockerfile"
	"github.com/pharos-dev/pharos/catalogue/source"
)

// What is said of a random Dockerfile in a random folder is what BuildKit takes,
// and where BuildKit fails, it is an error or something is missing.
func TestRandomBuilds(t *testing.T) {
	t.Parallel()
	const seeds = 600
	var taken, failed int
	for seed := range uint64(seeds) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
		files := g.tree()
		args := map[string]string{}
		for _, name := range []string{"A", "B", "TAG"} {
			if g.IntN(2) == 0 {
				args[name] = g.pick("a", "b", "c.txt", "1.0")
			}
		}
		const name = "Dockerfile"
		files[name] = source.File{Content: g.dockerfile()}
		if g.IntN(2) == 0 {
			files[g.pick(".dockerignore", name+".dockerignore")] = source.File{Content: g.ignore()}
		}
		target := g.pick("", "", "s0", "S1")
		got, said := predict(t, files, name, target, args)
		want, failure := build(t, write(t, files), name, target, args)
		problem := ""
		switch {
		case failure != nil && said.fails == nil && said.mayFail == nil:
			problem = fmt.Sprintf("BuildKit fails: %v", failure)
		case failure == nil && said.fails != nil:
			problem = fmt.Sprintf("BuildKit does not fail: %v", said.fails)
		case failure != nil:
			failed++
		case said.unknown:
			want.files = slices.DeleteFunc(want.files, func(name string) bool { return !slices.Contains(got.files, name) })
			problem = cmp.Diff(want, got, cmp.AllowUnexported(outcome{}), cmpopts.EquateEmpty())
		case said.more:
			got.files = slices.DeleteFunc(got.files, func(name string) bool { return !slices.Contains(want.files, name) })
			problem = cmp.Diff(want, got, cmp.AllowUnexported(outcome{}), cmpopts.EquateEmpty())
		default:
			problem = cmp.Diff(want, got, cmp.AllowUnexported(outcome{}), cmpopts.EquateEmpty())
			if len(want.files) > 0 {
				taken++
			}
		}
		if problem != "" {
			t.Errorf("seed %d: %s\n%s\n%s", seed, problem, files[name].Content, show(files))
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d builds take files, %d fail", taken, failed)
	if taken < seeds/10 || failed < seeds/10 {
		t.Errorf("of %d builds, only %d took files and %d failed", seeds, taken, failed)
	}
}

// prediction is what the package says of a build's end.
type prediction struct {
	fails error
	// mayFail is for wildcards that match nothing: whether the directory before
	// them is sent hangs on how the client looks for symbolic links. Where a file
	// stands before /./, it hangs on whether another source has it sent.
	mayFail error
	unknown bool // there are sources of which nothing is said
	more    bool // more may be said to be taken: a client does not send what links behind wildcards lead to
}

var wildcardFolder = regexp.MustCompile(`[*?\]][^ ]*/[^p]`)

func predict(t *testing.T, files map[string]source.File, name, target string, args map[string]string) (outcome, prediction) {
	t.Helper()
	tree, err := source.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	f, err := dockerfile.Parse(name, []byte(files[name].Content))
	if err != nil {
		return outcome{}, prediction{fails: err}
	}
	p, err := f.Plan(dockerfile.Options{Target: target, Args: args, Platform: "linux/amd64"})
	if err != nil {
		return outcome{}, prediction{fails: err}
	}
	r, err := p.Reads(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	var said prediction
	for _, m := range r.Missing {
		err := fmt.Errorf("%+v", m)
		switch {
		case m.Optional:
		case strings.Contains(m.Reason, "matches nothing") && strings.ContainsAny(m.Path, "*?["), strings.Contains(m.Path, "/./"):
			said.mayFail = err
		default:
			said.fails = err
		}
	}
	for _, f := range files {
		if f.Mode == source.ModeSymlink && wildcardFolder.MatchString(files[name].Content) {
			said.more, said.mayFail = true, errors.New("a link may match")
		}
	}
	if len(r.Unknown) > 0 {
		said.unknown, said.mayFail = true, fmt.Errorf("%+v", r.Unknown)
	}
	out := outcome{bases: normalize(t, p.Bases)}
	for _, path := range r.Files {
		mode := files[path].Mode
		if (mode == 0 || mode.IsFile()) && path != name && !strings.HasSuffix(path, ".dockerignore") {
			out.files = append(out.files, path)
		}
	}
	return out, said
}

func write(t *testing.T, files map[string]source.File) string {
	t.Helper()
	dir := t.TempDir()
	for name, f := range files {
		to := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(to), 0o755)
		if err == nil && f.Mode == source.ModeSymlink {
			err = os.Symlink(f.Content, to)
		} else if err == nil {
			err = os.WriteFile(to, []byte(f.Content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func show(files map[string]source.File) string {
	var b strings.Builder
	for name, f := range files {
		fmt.Fprintf(&b, "%s %o %q\n", name, f.Mode, f.Content)
	}
	return b.String()
}

type generator struct {
	*rand.Rand
	stages int      // of the Dockerfile
	paths  []string // of the tree's files and folders
}

func (g *generator) pick(of ...string) string { return of[g.IntN(len(of))] }

func (g *generator) name() string {
	return g.pick("a", "b", "c.txt", "d.md", ".h", "e[1]", "1.0", "ab")
}

func (g *generator) any() string {
	parts := make([]string, 1+g.IntN(3))
	for i := range parts {
		parts[i] = g.name()
	}
	return strings.Join(parts, "/")
}

// path is mostly one that there is.
func (g *generator) path() string {
	if len(g.paths) > 0 && g.IntN(8) > 0 {
		return g.paths[g.IntN(len(g.paths))]
	}
	return g.any()
}

// plain is a path without wildcards. A client takes a mount's source and the
// target of a symbolic link for patterns, the daemon takes them as they are.
func (g *generator) plain() string { return strings.ReplaceAll(g.path(), "e[1]", "a") }

// pattern is a path in which names may have become wildcards.
func (g *generator) pattern(wild ...string) string {
	parts := strings.Split(g.path(), "/")
	for i := range parts {
		if g.IntN(3) == 0 {
			parts[i] = g.pick(wild...)
		}
	}
	return strings.Join(parts, "/")
}

func (g *generator) tree() map[string]source.File {
	files := map[string]source.File{}
	folders := map[string]bool{}
	for range 3 + g.IntN(12) {
		p := g.any()
		if folders[p] {
			continue
		}
		clash := false
		for d := filepath.Dir(p); d != "."; d = filepath.Dir(d) {
			_, isFile := files[d]
			clash = clash || isFile
		}
		if clash {
			continue
		}
		f := source.File{Content: p}
		if g.IntN(5) == 0 {
			f = source.File{Content: g.pick("", "/", "../", "./", "../../") + g.plain(), Mode: source.ModeSymlink}
		}
		files[p] = f
		for d := filepath.Dir(p); d != "."; d = filepath.Dir(d) {
			folders[d] = true
		}
	}
	g.paths = slices.Sorted(maps.Keys(files))
	g.paths = append(g.paths, slices.Sorted(maps.Keys(folders))...)
	return files
}

func (g *generator) ignore() string {
	var b strings.Builder
	for range 1 + g.IntN(5) {
		b.WriteString(g.pick("", "", "!", "/", "# ") + g.pattern("*", "**", "*.txt", "?", "[ab]", "a*") + g.pick("\n", "/\n", "/**\n", " \n", "\r\n"))
	}
	return b.String()
}

func (g *generator) dockerfile() string {
	var b strings.Builder
	b.WriteString(g.pick("", "# syntax=docker/dockerfile:1\n", "# escape=\\\n", "# comment\n"))
	b.WriteString(g.pick("", "ARG A=a\n", "ARG A B=b TAG=1.0\n", "ARG TAG=${A:-2.0}\n"))
	g.stages = 1 + g.IntN(4)
	for i := range g.stages {
		b.WriteString("FROM " + g.pick("", "", "--platform=$BUILDPLATFORM ", "--platform=linux/amd64 "))
		b.WriteString(g.pick("img", "scratch", "reg.example/img:${TAG:-1}", "img:${TARGETARCH}", "s0", "s1", "img@sha256:"+strings.Repeat("a", 64), "s${A:+0}", "img${A%a}x"))
		fmt.Fprintf(&b, "%s\n", g.pick(fmt.Sprintf(" AS s%d", i), fmt.Sprintf(" as S%d", i), ""))
		b.WriteString(g.pick("", "ARG A\nARG B=$A\n", "ARG A=a B=b\n", "ENV A=a B=${A}b\n", "ARG TARGETARCH\n"))
		for range g.IntN(4) {
			b.WriteString(g.pick("", "", "", "ONBUILD ") + g.instruction() + "\n")
		}
	}
	return b.String()
}

func (g *generator) instruction() string {
	// BuildKit numbers images that it has met behind the stages: 1 of one stage
	// may be the second image.
	from := g.pick("s0", "S1", "s2", strconv.Itoa(g.IntN(g.stages)), "other", "other:2", "scratch", "99")
	switch g.IntN(9) {
	case 0:
		return "COPY --from=" + from + " /x /y"
	case 1:
		return "RUN --mount=type=" + g.pick("bind", "cache") + ",from=" + from + ",target=/m true"
	case 2:
		return "RUN --mount=type=bind,source=" + g.plain() + ",target=/m --mount=type=cache,target=/c true"
	case 3:
		return "COPY --parents " + g.pick("", "./", "/", g.name()+"/./") + g.pattern("*", "**", "*.txt", "?") + " /p/"
	case 4:
		return "COPY --exclude=" + g.pattern("*", "**", "*.txt", "!a") + " " + g.pick(".", g.path()) + " /p/"
	case 5:
		return "ADD " + g.pick("", "/", "./", "../") + g.pattern("*", "?", "[ab]", "[^a]", "a*", "[[]*") + " /p/"
	case 6:
		return "COPY [\"" + g.pick("${A:-a}", "$B", ".", "", g.path()) + "\", \"" + g.path() + "\", \"/p/\"]"
	case 7:
		return "COPY <<EOF " + g.path() + " /p/\nhello\nEOF"
	default:
		return "COPY " + g.pattern("*", "?", "*.*") + g.pick("", "/", "/.") + " /p/"
	}
}
