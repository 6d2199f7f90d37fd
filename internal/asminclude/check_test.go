package asminclude_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/internal/asminclude"
)

type files map[string]string

func (f files) ReadFile(name string) ([]byte, error) {
	content, ok := f[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(content), nil
}

func (f files) Resolve(name string) string { return strings.Replace(name, "link", "a", 1) }

func TestCheck(t *testing.T) {
	t.Parallel()
	const out, quoted, up = "leads out of the tree", "needs a name in quotes", "goes up after it went down"
	for name, c := range map[string]struct {
		source   string
		included string
		problem  string // and nothing, if empty
	}{
		"none":              {"TEXT ·Sum(SB), 4, $0\n\tRET\n", "", ""},
		"the toolchain's":   {"#include \"textflag.h\"\n#include \"go_asm.h\"\n", "", ""},
		"beside it":         {"#include \"b.h\"\n", "a/b.h", ""},
		"by another":        {"#include \"../top.h\"\n", "top.h a/b.h", ""},
		"itself":            {"#include \"self.h\"\n", "a/self.h", ""},
		"by a link":         {"#include \"../link/b.h\"\n", "a/b.h", ""},
		"in a comment":      {"// #include \"/etc/a.h\"\n/* #include \"/etc/a.h\" */", "", ""},
		"a longer name":     {"TEXT ·include(SB), 4, $0\n\tinclude_x\n", "", ""},
		"absolute":          {"\n#include \"/etc/a.h\"\n", "", out},
		"on a drive":        {"\n#include \"C:/a.h\"\n", "", out},
		"with backslashes":  {"\n#include \"..\\\\..\\\\a.h\"\n", "", out},
		"above":             {"\n#include \"../../a.h\"\n", "", out},
		"escaped":           {"\n#include \"\\x2fetc/a.h\"\n", "", out},
		"spaced":            {"\n#  /* \" */ include /**/ \"/etc/a.h\"", "", out},
		"left out":          {"#ifdef X\n#include \"/etc/a.h\"\n#endif\n", "", out},
		"in a macro":        {"#define X \\\n#include \"/etc/a.h\"\nX\n", "", out},
		"of a macro's name": {"#define X(name) \\\n#include name\nX(\"/etc/a.h\")\n", "", quoted},
		"with a macro's #":  {"#define X #\nX include \"/etc/a.h\"\n", "", quoted},
		"as an argument":    {"#define X(a) #a\nX(include) \"/etc/a.h\"\n", "", quoted},
		"in brackets":       {"\n#include <a.h>\n", "", quoted},
		"in what it takes":  {"#include \"bad.h\"\n", "a/bad.h", out},
		"up after down":     {"\n#include \"../link/../x/a.h\"\n", "", up},
		"above, nowhere":    {"\n#include \"../gone.h\"\n", "", "the tree has no gone.h"},
	} {
		tree := files{"a/x.s": c.source, "a/b.h": "", "top.h": "#include \"b.h\"\n", "a/self.h": "#include \"self.h\"\n", "a/bad.h": "\n#include \"/etc/a.h\"\n"}
		got, err := asminclude.Check(tree, "link", []string{"link/x.s"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Fields(c.included), append([]string{}, got.Files...)); diff != "" {
			t.Errorf("%s: includes (-want +got):\n%s", name, diff)
		}
		switch {
		case c.problem == "" && len(got.Problems) > 0, c.problem != "" && len(got.Problems) != 1:
			t.Errorf("%s: the problems are %v", name, got.Problems)
		case c.problem != "" && (!strings.Contains(got.Problems[0].Message, c.problem) || !strings.Contains(got.Problems[0].At, ":2")):
			t.Errorf("%s: the problem is %v", name, got.Problems[0])
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("#include \"b.h\"\n#include \"../../x\"")
	f.Add("include include #include \"\x00")
	f.Fuzz(func(t *testing.T, source string) {
		got, err := asminclude.Check(files{"a/x.s": source, "a/b.h": source}, "a", []string{"a/x.s"})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range got.Files {
			if name != "a/b.h" && name != "a/x.s" {
				t.Errorf("%s is not in the tree", name)
			}
		}
	})
}
