package policy

import (
	"slices"
	"strings"
	"testing"
)

// Each rule is tried on facts that break it: a rule that finds nothing anywhere would pass on the project as well.

func TestCheckLinks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		from, to string
		forbid   bool
	}{
		{"/catalogue", "k8s.io/api/core/v1", true},
		{"/catalogue/source", "sigs.k8s.io/kustomize/api", true},
		{"/receipt", "k8s.io/apimachinery/pkg/types", true},
		{"/receipt/dir", "k8s.io/client-go/rest", true},
		{"/receipt/kube", "k8s.io/client-go/rest", false},
		{"/lifecycle/supervise", "k8s.io/apimachinery/pkg/types", true},
		{"/lifecycle/supervise/workload", "k8s.io/client-go/dynamic", false},
		{"/lease", "k8s.io/client-go/rest", false},
		{"/catalogue", Module + "/receipt", true},
		{"/receipt/kube", Module + "/lease", true},
		{"/lease", Module + "/reaper", true},
		{"/reaper/sweep", Module + "/catalogue", true},
		{"/reaper/sweep", Module + "/reaper", false},
		{"/lease", Module + "/lifecycle", true},
		{"/lifecycle", Module + "/lease", false},
		{"/lifecycle", Module + "/lifecycle/render", true},
		{"/lifecycle", Module + "/receipt/kube", true},
		{"/lifecycle/standard", Module + "/lifecycle/render", false},
		{"/lifecycle/standard", Module + "/kubectl-pharos", true},
		{"/kubectl-pharos", Module + "/lifecycle/standard", false},
		{"/lease", Module + "/internal/devenv", true},
		{"/lease", "testing", true},
		{"/receipt/receipttest", "testing", false},
	} {
		findings := checkLinks([]Package{{Path: Module + tt.from, Deps: []string{"fmt", tt.to}}})
		if (len(findings) > 0) != tt.forbid {
			t.Errorf("%s links %s: findings %q", tt.from, tt.to, findings)
		}
	}
}

func TestSourceRules(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		check func(*source) []string
		file  string
		text  string
		want  []string // lines with a finding, in order
	}{
		"exits and prints": {check: checkWorldly, text: `package p
import (
	"fmt"
	sys "os"
	"log"
	"log/slog"
	"flag"
)
func f(w sys.File) {
	fmt.Println()
	sys.Exit(1)
	log.Fatal()
	_ = sys.Getenv("HOME")
	flag.Parse()
	slog.Info("x")
	println()
	fmt.Fprintln(w)
	_ = fmt.Sprint()
	_ = slog.New(nil)
	_ = log.New(nil, "", 0)
}
func shadow(os struct{ Exit func(int) }) { os.Exit(1) }
`, want: []string{"10", "11", "12", "13", "14", "15", "16"}},
		"changes a package variable": {check: checkState, text: `package p
import "sync"
var n int
var m = map[string]int{}
var mu sync.Mutex
var fixed = []string{"a"}
var _ = n
func init() {}
func f() {
	n++
	m["a"] = 1
	delete(m, "a")
	g(&n)
	n := 0
	n = 1
	_ = fixed[0]
	var local map[string]int
	local["a"] = n
}
func g(*int) {}
func (t T) init() {}
type T struct{}
`, want: []string{"5", "8", "10", "11", "12", "13"}},
		"skips and sleeps": {check: checkTests, file: "p_test.go", text: `package p
import (
	"testing"
	"time"
)
func TestA(t *testing.T) {
	t.Skip("no")
	if testing.Short() { t.SkipNow() }
	time.Sleep(time.Second)
	var s scanner
	s.Skip()
}
type scanner struct{}
func (scanner) Skip() {}
`, want: []string{"7", "8", "9"}},
		"writes a label out": {check: checkKeys, text: `package p
const (
	apiVersion = "pharos.dev/v1alpha1"
	module = "github.com/pharos-dev/pharos"
	label = "pharos.dev/owner"
	selector = "app=x,pharos.dev/intent=transient"
)
`, want: []string{"5", "6"}},
		"comment in another file": {check: checkDocs, file: "p.go", text: "// Package p is it.\npackage p\n", want: []string{"2"}},
		"comment of another form": {check: checkDocs, file: "doc.go", text: "// It is p.\npackage p\n", want: []string{"2"}},
		"no comment":              {check: checkDocs, file: "doc.go", text: "package p\n", want: []string{" no doc.go with a package comment"}},
		"a good comment":          {check: checkDocs, file: "doc.go", text: "// Package p is it.\npackage p\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := tt.file
			if file == "" {
				file = "p.go"
			}
			s, err := parse("p", map[string][]byte{file: []byte(tt.text)})
			if err != nil {
				t.Fatal(err)
			}
			findings := tt.check(s)
			var lines []string
			for _, f := range findings {
				lines = append(lines, strings.Split(f, ":")[1])
			}
			slices.SortFunc(lines, func(a, b string) int { return len(a)*1000 - len(b)*1000 + strings.Compare(a, b) })
			if !slices.Equal(lines, tt.want) {
				t.Errorf("findings in lines %q, want %q:\n%s", lines, tt.want, strings.Join(findings, "\n"))
			}
		})
	}
}

func TestCheckExample(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"package p\n":                    false,
		"package p\nfunc Example() {}\n": false,
		"package p\nfunc Example() {\n\tf()\n\t// Output:\n\t// 1\n}\n":           true,
		"package p\nfunc Example() {\n\tf()\n\t// Unordered output:\n\t// 1\n}\n": true,
		"package p\nfunc f() {\n\t// Output:\n\t// 1\n}\nfunc Example() {}\n":     false,
	} {
		s, err := parse("p", map[string][]byte{"p_test.go": []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		if findings := checkExample("p", []*source{s}); (len(findings) == 0) != ok {
			t.Errorf("%s: findings %q", text, findings)
		}
	}
}

func TestCheckModule(t *testing.T) {
	t.Parallel()
	m := modFile{
		Require: []struct{ Path, Version string }{{"k8s.io/client-go", "v0.37.2"}, {"k8s.io/kubernetes", "v1.37.2"}},
		Replace: make([]struct {
			Old, New struct{ Path, Version string }
		}, 1),
		Exclude: make([]struct{ Path, Version string }, 1),
	}
	if findings := checkModule(m); len(findings) != 3 {
		t.Errorf("findings %q", findings)
	}
}

func TestCheckText(t *testing.T) {
	t.Parallel()
	for text, bad := range map[string]bool{
		"see " + "/work" + "/main/x":  true,
		"\"/root" + "/go\"":           true,
		"/home" + "/jane/pharos":      true,
		"frame" + "work/x ./work/":    false,
		"$HOME/ro" + "ot/x":           false,
		"a /work" + "er/ and /rooted": false,
		"bin\x00 /work" + "/":         false,
	} {
		if findings := checkText("f", []byte(text)); (len(findings) > 0) != bad {
			t.Errorf("%q: findings %q", text, findings)
		}
	}
}
