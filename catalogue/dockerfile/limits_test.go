package dockerfile

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// Arguments that hold each other twice stand for more than any memory holds.
func TestExpansionsAreBounded(t *testing.T) {
	t.Parallel()
	doubling := func(declare, join string) string {
		var b strings.Builder
		fmt.Fprintf(&b, "%s A0=xxxxxxxxxxxxxxxx\n", declare)
		for i := range 60 {
			fmt.Fprintf(&b, "%s A%d=$A%d%s$A%[3]d\n", declare, i+1, i, join)
		}
		return b.String()
	}
	for name, content := range map[string]string{
		"before FROM":          doubling("ARG", "") + "FROM a:$A60",
		"in a stage":           "FROM scratch\n" + doubling("ARG", "-"),
		"in the environment":   "FROM scratch\n" + doubling("ENV", "/"),
		"in one word":          "FROM scratch\nENV A=" + strings.Repeat("x", 1000) + "\nCOPY " + strings.Repeat("$A", 100) + " /",
		"a long word":          "ARG A=" + strings.Repeat("x\\\n", maxWord) + "y\nFROM a",
		"replacement":          "ARG A=" + strings.Repeat("x", 30_000) + "\nARG B=${A//x/" + strings.Repeat("y", 30_000) + "}\nFROM a",
		"replacements in it":   "ARG A=" + strings.Repeat("x", 300) + "\nARG B=${A//x/${A//x/${A//x/${A//x/$A}}}}\nFROM a",
		"matches in it":        "ARG A=" + strings.Repeat("x", 30_000) + "\nARG B=${A//*/" + strings.Repeat("$0", 10_000) + "}\nFROM a",
		"many long words":      "FROM scratch\nENV A=" + strings.Repeat("x", 60_000) + "\n" + strings.Repeat("ENV B=$A\n", 2000),
		"many long variables":  "FROM scratch\nENV A=" + strings.Repeat("x", 60_000) + "\nENV " + strings.Repeat("B=$A ", 2000),
		"many in ONBUILD":      "FROM scratch AS s\n" + strings.Repeat("ONBUILD ENV A=b\n", 5000) + strings.Repeat("FROM s AS t\nFROM t AS u\nFROM s AS v\nCOPY --from=u a b\n", 3),
		"many things to visit": "FROM scratch AS s\n" + strings.Repeat("ONBUILD ENV A=b\n", 90) + strings.Repeat("FROM s AS s\n"+strings.Repeat("ONBUILD ENV A=b\n", 90), 100),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := Parse("Dockerfile", []byte(content))
			if err == nil {
				_, err = f.Plan(Options{})
			}
			var parse *ParseError
			if !errors.As(err, &parse) || !strings.Contains(err.Error(), " than ") && !strings.Contains(err.Error(), " at most ") {
				t.Errorf("%.300v", err)
			}
		})
	}
}

// What is in use is not refused.
func TestExpansionsInUse(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("some/path:", 3000)
	p := planned(t, "ARG A=1.2.3-rc.4\nARG B=${A//./_}-${A//-/_}-${A//rc/x}-${A/1/${A%%.*}}\nFROM a:$B\nENV L="+long+"\nENV M=$L$L\nENV N=${L//:/,}\n", Options{})
	if want := "a:1_2_3-rc_4-1.2.3_rc.4-1.2.3-x.4-1.2.3-rc.4"; p.Bases[0] != want {
		t.Errorf("%q", p.Bases)
	}
}

// Two dozen trees of ten directories each, all of them the next one.
func TestTreesThatHoldEachOther(t *testing.T) {
	t.Parallel()
	m := source.NewMemory()
	id, err := m.PutTree([]source.Entry{{Name: "f", Mode: source.ModeFile, ID: m.PutBlob(nil)}})
	for range 24 {
		var entries []source.Entry
		for i := range 10 {
			entries = append(entries, source.Entry{Name: fmt.Sprint("d", i), Mode: source.ModeDir, ID: id})
		}
		if err == nil {
			id, err = m.PutTree(entries)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	bomb := source.Tree{ID: id, Objects: m}
	few := limits{entries: 10_000, paths: 1 << 20, steps: 100_000}
	for _, instruction := range []string{"COPY . /", "COPY --parents **/x /", "COPY [^x]*/[^x]*/x /", "RUN --mount=target=/x true", "COPY --exclude=**/y . /"} {
		_, err := planned(t, "FROM scratch\n"+instruction, Options{}).reads(t.Context(), bomb, few)
		var large *TooLargeError
		if !errors.As(err, &large) || !errors.Is(err, source.ErrTooLarge) {
			t.Errorf("%s: %v", instruction, err)
		}
	}
}

func TestContextsAreBounded(t *testing.T) {
	t.Parallel()
	const lines = "a\n*b\n**/c\n"
	for name, tree := range map[string]source.Tree{
		"a deep one":    tree(t, nil, strings.Repeat("d/", maxPath/2)+"f"),
		"many entries":  tree(t, nil, "a", "b", "c", "d", "e", "f", "g", "h", "i"),
		"long paths":    tree(t, nil, strings.Repeat("d", 50), strings.Repeat("e", 50)),
		"many patterns": tree(t, map[string]string{".dockerignore": strings.Repeat(lines, 10)}, "x", "y", "z"),
		"a long link":   tree(t, map[string]string{"l": "-> " + strings.Repeat("x", maxPath+1)}),
	} {
		_, err := planned(t, "FROM scratch\nCOPY . l /\n", Options{}).reads(t.Context(), tree, limits{entries: 8, paths: 80, steps: 80})
		if name == "a deep one" || name == "a long link" {
			_, err = planned(t, "FROM scratch\nCOPY . l /\n", Options{}).Reads(t.Context(), tree)
		}
		if large, ok := errors.AsType[*TooLargeError](err); !ok || !errors.Is(err, source.ErrTooLarge) || (large.Path == ".dockerignore") != (name == "many patterns") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Every COPY of the same folder costs the same once only.
func TestTheSameFolderOftenIsCheap(t *testing.T) {
	t.Parallel()
	var paths []string
	for i := range 10_000 {
		paths = append(paths, fmt.Sprintf("d%d/f%d", i%100, i))
	}
	content := "FROM scratch\n" + strings.Repeat("COPY . /\n", MaxInstructions-1)
	r := reads(t, content, tree(t, nil, paths...))
	if len(r.Files) != len(paths)+1 {
		t.Errorf("%d files", len(r.Files))
	}
}
