package policy

import (
	"fmt"
	"go/ast"
	"path/filepath"
	"strings"
)

// checkDocs wants a doc.go with the package comment, in the form that go doc shows.
func checkDocs(s *source) []string {
	for _, f := range s.files {
		if f.Doc == nil {
			continue
		}
		name := filepath.Base(s.fset.Position(f.Pos()).Filename)
		if name != "doc.go" {
			return []string{s.finding(f.Package, "the package comment stands in doc.go")}
		}
		if !strings.HasPrefix(f.Doc.Text(), "Package "+f.Name.Name+" ") {
			return []string{s.finding(f.Package, "the package comment begins with %q", "Package "+f.Name.Name)}
		}
		return nil
	}
	return []string{s.path + ": no doc.go with a package comment"}
}

// checkExample wants an example that runs: one with an output to compare. A package for tests needs a test to run in,
// so there its example is compiled only.
func checkExample(path string, tests []*source) []string {
	for _, s := range tests {
		for _, f := range s.files {
			for _, decl := range f.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				if ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Example") &&
					(hasOutput(f, fn) || strings.HasSuffix(path, "test")) {
					return nil
				}
			}
		}
	}
	return []string{path + ": no Example function with an output"}
}

func hasOutput(f *ast.File, fn *ast.FuncDecl) bool {
	for _, c := range f.Comments {
		if c.Pos() > fn.Body.Lbrace && c.End() < fn.Body.Rbrace {
			text := strings.ToLower(c.Text())
			if strings.HasPrefix(text, "output:") || strings.HasPrefix(text, "unordered output:") {
				return true
			}
		}
	}
	return false
}

// modFile is the part of "go mod edit -json" that has rules.
type modFile struct {
	Require []struct{ Path, Version string }
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
	Exclude []struct{ Path, Version string }
}

// checkModule holds the library's go.mod to what a user's build also sees: replace and exclude count for us alone.
func checkModule(m modFile) []string {
	var findings []string
	for _, r := range m.Replace {
		findings = append(findings, fmt.Sprintf("go.mod: replace %s: it does not hold for whoever imports the library", r.Old.Path))
	}
	for _, e := range m.Exclude {
		findings = append(findings, fmt.Sprintf("go.mod: exclude %s: it does not hold for whoever imports the library", e.Path))
	}
	for _, r := range m.Require {
		if r.Path == "k8s.io/kubernetes" || r.Path == "k8s.io/kubectl" || strings.HasPrefix(r.Path, "github.com/argoproj/") {
			findings = append(findings, fmt.Sprintf("go.mod: require %s: it is not made to be imported", r.Path))
		}
	}
	return findings
}
