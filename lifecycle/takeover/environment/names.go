package environment

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
)

// Name is a variable that a process will get, as far as it is known before anything
// is read.
type Name struct {
	// Name is the variable's; or, for what a whole ConfigMap or Secret may have, the
	// pattern of Run.Env.
	Name string `json:"name"`
	// From says where the value will come from.
	From string `json:"from"`
	// Rewritten says that an address, port or path in the value will be replaced.
	Rewritten bool `json:"rewritten,omitempty"`
}

// Names returns what Resolve will give values to, sorted, for a dry run. It reads
// neither values nor objects: of the request it takes Pod, Container, Run and the
// names in DotEnv.
func Names(q Request) ([]Name, error) {
	c, err := newContainer(nil, q)
	if err != nil {
		return nil, err
	}
	local, err := q.local()
	if err != nil {
		return nil, err
	}
	var names []Name
	have := map[string]bool{}
	add := func(name, from string) {
		if !have[name+"\x00"+from] {
			have[name+"\x00"+from], have[name] = true, true
			names = append(names, Name{Name: name, From: from})
		}
	}
	for name, v := range local {
		add(name, v.from)
	}
	for _, e := range slices.Backward(c.spec.Env) {
		if c.Run.Allows(e.Name) && !have[e.Name] {
			add(e.Name, c.declaredFrom(e))
		}
	}
	for _, pattern := range c.Run.Env {
		c.mayHave(pattern, have, add)
	}
	for _, p := range q.Run.Ports {
		for _, name := range p.Env {
			if !have[name] {
				add(name, catalogue.FileName+", run.ports")
			}
		}
	}
	if len(q.Run.Files) > 0 {
		add(FilesVariable, catalogue.FileName+", run.files")
	}
	for _, f := range q.Run.Files {
		for _, name := range f.Env {
			if !have[name] {
				add(name, catalogue.FileName+", run.files")
			}
		}
	}
	for i := range names {
		names[i].Rewritten = rewritten(q.Run, names[i].Name)
	}
	slices.SortFunc(names, func(a, b Name) int { return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.From, b.From)) })
	return names, nil
}

// rewritten says whether a variable is declared to have what is replaced.
func rewritten(run catalogue.Run, name string) bool {
	return slices.ContainsFunc(run.Forwards, func(f catalogue.RunForward) bool { return slices.Contains(f.Env, name) }) ||
		slices.ContainsFunc(run.Ports, func(p catalogue.RunPort) bool { return slices.Contains(p.Env, name) }) ||
		slices.ContainsFunc(run.Files, func(f catalogue.RunFiles) bool { return slices.Contains(f.Env, name) })
}
