package golang

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/pharos-dev/pharos/lifecycle/build/internal/problem"
)

func (a *analysis) checkUses(file string) {
	for _, use := range a.work.Use {
		dir, ok := a.inside(a.workDir, use.Path)
		if !ok {
			a.Add("%s:%d: use %s leads out of the tree", file, use.Syntax.Start.Line, use.Path)
			continue
		}
		if dir == a.dir {
			continue
		}
		mod := path.Join(dir, "go.mod")
		data, ok := a.need(mod, problem.Literal(mod))
		if !ok {
			a.Add("%s:%d: use %s: the tree has no %s", file, use.Syntax.Start.Line, use.Path, mod)
			continue
		}
		if f := a.parseMod(mod, data); f != nil {
			a.locals = append(a.locals, localModule{f.Module.Mod.Path, dir})
			a.needSum(path.Join(dir, "go.sum"))
			a.used[dir] = f
		}
	}
}

func (a *analysis) checkReplaces() {
	a.checkReplacesOf(path.Join(a.dir, "go.mod"), a.dir, a.file.Replace)
	if a.work != nil {
		a.checkReplacesOf(path.Join(a.workDir, "go.work"), a.workDir, a.work.Replace)
	}
	for _, dir := range slices.Sorted(maps.Keys(a.used)) {
		a.checkReplacesOf(path.Join(dir, "go.mod"), dir, a.used[dir].Replace)
	}
}

func (a *analysis) checkReplacesOf(file, base string, replaces []*modfile.Replace) {
	for _, r := range replaces {
		if r.New.Version != "" {
			continue
		}
		where := fmt.Sprintf("%s:%d: replace %s => %s", file, r.Syntax.Start.Line, r.Old.Path, r.New.Path)
		dir, ok := a.inside(base, r.New.Path)
		if !ok {
			a.Add("%s leads out of the tree", where)
			continue
		}
		if _, ok := a.need(path.Join(dir, "go.mod"), problem.Literal(dir)); !ok {
			a.Add("%s: the tree has no %s/go.mod", where, dir)
			continue
		}
		a.locals = append(a.locals, localModule{r.Old.Path, dir})
	}
}

// inside resolves a path that a file in the folder base names.
func (a *analysis) inside(base, p string) (dir string, ok bool) {
	p = strings.ReplaceAll(p, `\`, "/")
	if path.IsAbs(p) || len(p) > 1 && p[1] == ':' {
		return "", false
	}
	dir = path.Join(base, p)
	return dir, !leavesTree(dir)
}

func leavesTree(clean string) bool {
	return path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../")
}

func cleanPath(p string) string { return path.Clean(strings.TrimSuffix(p, "/")) }
