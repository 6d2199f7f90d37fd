package dockerfile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// seeds are the Dockerfiles of testdata and what BuildKit's parser has found
// hard.
func seeds(f *testing.F) []string {
	names, err := filepath.Glob(filepath.Join("testdata", "*.Dockerfile"))
	if err != nil || len(names) == 0 {
		f.Fatal(names, err)
	}
	list := []string{
		"FROM a\n# check=skip=all\nRUN true", "# syntax=a\n# escape=`\nFROM a `\n", "#!x\n//syntax=y\n", `{"syntax":"a"}`,
		"FROM a AS b\nONBUILD COPY --from=c <<E d /e\nE\nFROM b", "FROM ${A:-${B:+x}}\n", "ARG A=${A//?/$0}\nFROM $A", "FROM a\nRUN --mount=type=bind,\"from=b\" <<'A' <<-\"B\"\nA\nB",
		"FROM a\nCOPY [\"a\", \"b\"] c\nADD --checksum=$x https://a git@b:c?d#e /f", "FROM a\nENV a b\nENV c=$a \\\n\\\n# d\nd=e", "FROM a\nCOPY --parents --exclude=!a ./a/./**/[b] /",
		"FROM a\nHEALTHCHECK --interval=1s CMD [\"x\"]\nSHELL [\"y\"]\nEXPOSE 1/tcp\nSTOPSIGNAL 9\nVOLUME [\"\"]",
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		list = append(list, string(content))
	}
	return list
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		file, err := Parse("Dockerfile", content)
		var parse *ParseError
		switch {
		case err == nil && file == nil, err != nil && (file != nil || !errors.As(err, &parse)):
			t.Fatalf("%v, %v", file, err)
		case parse != nil && (parse.Reason == "" || parse.Line < 0 || parse.Line > 1+strings.Count(string(content), "\n")):
			t.Fatalf("%+v", parse)
		}
	})
}

func FuzzPlan(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s, "", "GO_VERSION", "1", "linux/amd64", "*\n!a\n")
	}
	f.Add("FROM a AS b\nCOPY . /\nFROM b\nCOPY a* d/l /", "B", "TARGETARCH", "x", "windows/amd64", "**/b\n!**/a\n/d")
	f.Fuzz(func(t *testing.T, content, target, arg, value, platform, ignore string) {
		file, err := Parse("Dockerfile", []byte(content))
		if err != nil {
			return
		}
		o := Options{Target: target, Args: map[string]string{arg: value}, Platform: platform}
		p, err := file.Plan(o)
		if err != nil {
			var parse *ParseError
			var unknown *TargetError
			if p != nil || !errors.As(err, &parse) && !errors.As(err, &unknown) {
				t.Fatalf("%v, %v", p, err)
			}
			return
		}
		again, err := file.Plan(o)
		if err != nil || !slices.Equal(p.Bases, again.Bases) || p.Frontend != again.Frontend || !slices.Equal(p.Remote, again.Remote) {
			t.Fatalf("%+v, then %+v, %v", p, again, err)
		}
		for i, base := range p.Bases {
			if base == "" || base == scratch || slices.Contains(p.Bases[:i], base) || checkReference(base) != nil {
				t.Fatalf("%q", p.Bases)
			}
		}
		tree, err := source.FromFiles(map[string]source.File{
			"Dockerfile": {Content: content}, ".dockerignore": {Content: ignore}, "a/b": {}, "a/c.go": {}, "d/e/f": {},
			"d/l": {Mode: source.ModeSymlink, Content: "../a"}, "d/m": {Mode: source.ModeSymlink, Content: "/d/./m/.."},
		})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Reads(t.Context(), tree)
		if err != nil {
			var parse *ParseError
			if !errors.As(err, &parse) || parse.Path != ".dockerignore" {
				t.Fatal(err)
			}
			return
		}
		if !slices.Contains(r.Files, "Dockerfile") || !slices.IsSorted(r.Files) {
			t.Fatalf("%q", r.Files)
		}
		for _, name := range r.Files {
			if _, err := tree.Lookup(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
	})
}
