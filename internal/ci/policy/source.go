package policy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"strconv"
	"strings"
)

// source is the parsed text of one package. Its imports are not loaded: an identifier's meaning is known, its type
// only where the package itself says it.
type source struct {
	path  string
	fset  *token.FileSet
	files []*ast.File
	uses  map[*ast.Ident]types.Object
	scope *types.Scope
}

// parse reads the sources of one package, all with or all without its tests.
func parse(pkg string, files map[string][]byte) (*source, error) {
	s := &source{path: pkg, fset: token.NewFileSet(), uses: map[*ast.Ident]types.Object{}}
	for name, text := range files {
		f, err := parser.ParseFile(s.fset, name, text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, f)
	}
	conf := types.Config{
		Importer: emptyImporter{},
		// Whatever comes from an import is undefined: that is expected, and the compiler has the last word.
		Error: func(error) {},
	}
	checked, _ := conf.Check(pkg, s.fset, s.files, &types.Info{Uses: s.uses})
	s.scope = checked.Scope()
	return s, nil
}

// emptyImporter gives every import a package without content, named as its path suggests.
type emptyImporter struct{}

func (emptyImporter) Import(p string) (*types.Package, error) {
	if p == "unsafe" {
		return types.Unsafe, nil
	}
	name := path.Base(p)
	if version, ok := strings.CutPrefix(name, "v"); ok {
		if _, err := strconv.Atoi(version); err == nil {
			name = path.Base(path.Dir(p))
		}
	}
	name, _, _ = strings.Cut(name, ".")
	pkg := types.NewPackage(p, strings.TrimPrefix(name, "go-"))
	pkg.MarkComplete()
	return pkg, nil
}

func (s *source) finding(pos token.Pos, format string, args ...any) string {
	p := s.fset.Position(pos)
	return fmt.Sprintf("%s:%d: %s", p.Filename, p.Line, fmt.Sprintf(format, args...))
}

// selectors calls visit for every use of another package's name, such as os.Exit.
func (s *source) selectors(visit func(pos token.Pos, pkg, name string)) {
	for _, f := range s.files {
		ast.Inspect(f, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if id, ok := sel.X.(*ast.Ident); ok {
					if pkg, ok := s.uses[id].(*types.PkgName); ok {
						visit(sel.Pos(), pkg.Imported().Path(), sel.Sel.Name)
					}
				}
			}
			return true
		})
	}
}

// worldly are the names through which code reaches the process around it.
var worldly = map[string]map[string]bool{
	"fmt": {"Print": true, "Printf": true, "Println": true, "Scan": true, "Scanf": true, "Scanln": true},
	"os": {
		"Exit": true, "Args": true, "Stdin": true, "Stdout": true, "Stderr": true, "Chdir": true,
		"Getenv": true, "LookupEnv": true, "Environ": true, "ExpandEnv": true, "Setenv": true, "Unsetenv": true,
	},
	"log": {
		"Default": true, "Writer": true, "Output": true, "SetOutput": true, "SetFlags": true, "SetPrefix": true,
		"Print": true, "Printf": true, "Println": true, "Fatal": true, "Fatalf": true, "Fatalln": true,
		"Panic": true, "Panicf": true, "Panicln": true,
	},
	"log/slog": {
		"Default": true, "SetDefault": true, "Debug": true, "Info": true, "Warn": true, "Error": true,
		"DebugContext": true, "InfoContext": true, "WarnContext": true, "ErrorContext": true, "Log": true,
	},
}

// checkWorldly finds where a library package exits, prints, logs to the global logger, or reads flags or environment.
func checkWorldly(s *source) []string {
	var findings []string
	const reason = "a library package gets its settings and writers from its caller"
	s.selectors(func(pos token.Pos, pkg, name string) {
		if worldly[pkg][name] || pkg == "flag" || pkg == "github.com/spf13/pflag" || pkg == "k8s.io/klog/v2" {
			findings = append(findings, s.finding(pos, "%s.%s: %s", pkg, name, reason))
		}
	})
	for id, obj := range s.uses {
		if b, ok := obj.(*types.Builtin); ok && (b.Name() == "print" || b.Name() == "println") {
			findings = append(findings, s.finding(id.Pos(), "%s: %s", b.Name(), reason))
		}
	}
	return findings
}

// checkState finds package-level state: a variable that a function changes, and init functions.
func checkState(s *source) []string {
	var findings []string
	changed := func(e ast.Expr) {
		if v := s.packageVar(e); v != nil {
			findings = append(findings, s.finding(e.Pos(), "%s is changed: a package keeps no global state", v.Name()))
		}
	}
	for _, f := range s.files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && n.Name.Name == "init" {
					findings = append(findings, s.finding(n.Pos(), "func init: importing a package has no effect"))
				}
			case *ast.AssignStmt:
				if n.Tok != token.DEFINE {
					for _, e := range n.Lhs {
						changed(e)
					}
				}
			case *ast.IncDecStmt:
				changed(n.X)
			case *ast.RangeStmt:
				if n.Tok == token.ASSIGN {
					changed(n.Key)
					changed(n.Value)
				}
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					changed(n.X)
				}
			case *ast.CallExpr:
				if id, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 {
					if b, ok := s.uses[id].(*types.Builtin); ok && (b.Name() == "delete" || b.Name() == "clear") {
						changed(n.Args[0])
					}
				}
			}
			return true
		})
	}
	return append(findings, s.stateTypes()...)
}

// packageVar returns the package-level variable that an expression is, or is a part of.
func (s *source) packageVar(e ast.Expr) *types.Var {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			v, ok := s.uses[x].(*types.Var)
			if ok && v.Parent() == s.scope {
				return v
			}
			return nil
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// stateTypes finds package-level variables that exist to be changed through their methods.
func (s *source) stateTypes() []string {
	var findings []string
	for _, f := range s.files {
		for _, decl := range f.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.VAR {
				continue
			}
			for _, spec := range gen.Specs {
				value := spec.(*ast.ValueSpec)
				sel, ok := value.Type.(*ast.SelectorExpr)
				if !ok {
					continue
				}
				id, ok := sel.X.(*ast.Ident)
				if !ok {
					continue
				}
				if pkg, ok := s.uses[id].(*types.PkgName); ok && (pkg.Imported().Path() == "sync" || pkg.Imported().Path() == "sync/atomic") {
					findings = append(findings, s.finding(value.Pos(), "%s.%s: a package keeps no global state", pkg.Name(), sel.Sel.Name))
				}
			}
		}
	}
	return findings
}

// checkTests finds tests that may not run, or that wait for time to pass.
func checkTests(s *source) []string {
	var findings []string
	s.selectors(func(pos token.Pos, pkg, name string) {
		if pkg == "time" && name == "Sleep" {
			findings = append(findings, s.finding(pos, "time.Sleep: a test waits for what it needs, never for time to pass"))
		}
	})
	for _, f := range s.files {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
				switch sel.Sel.Name {
				case "Skip", "Skipf", "SkipNow":
					if id, ok := sel.X.(*ast.Ident); ok && (id.Name == "t" || id.Name == "b" || id.Name == "f" || id.Name == "tb") {
						findings = append(findings, s.finding(call.Pos(), "%s.%s: a test that may not run proves nothing", id.Name, sel.Sel.Name))
					}
				}
			}
			return true
		})
	}
	return findings
}

// checkKeys finds strings that name a label or annotation of Pharos.
func checkKeys(s *source) []string {
	var findings []string
	for _, f := range s.files {
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err == nil && strings.Contains(strings.ReplaceAll(text, "pharos.dev/v1alpha1", ""), "pharos.dev/") {
				findings = append(findings, s.finding(lit.Pos(), "%s: labels and annotations stand in internal/keys alone", lit.Value))
			}
			return true
		})
	}
	return findings
}
