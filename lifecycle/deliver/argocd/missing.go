package argocd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/lifecycle"
)

// missing is the refusal of a delivery by an Application that is not there, with
// what makes it: only a root is made by a preparation.
func (d *Deliverer) missing(p *part, how string) error {
	e := &lifecycle.BlockedError{Reason: p.String() + " " + how, Next: "Set the target up: kubectl pharos deploy"}
	i := slices.IndexFunc(d.layout.Applications, func(l Part) bool { return l.Name == p.object.Name })
	if d.layout.Root == p.object.Name || i < 0 {
		return e
	}
	var sources []string
	for _, folder := range d.layout.Applications[i].Paths {
		sources = append(sources, fmt.Sprintf("{repoURL: %s, path: %s, targetRevision: %s}", d.layout.Repository, folder, NoRevision))
	}
	field := "spec.source: " + strings.Join(sources, ", ")
	if len(sources) > 1 {
		field = "spec.sources: [" + strings.Join(sources, ", ") + "]"
	}
	e.Next = fmt.Sprintf("Make it, since Applications side by side are yours: an Application of that name in the namespace %s, with your spec.project and spec.destination, and %s",
		p.object.Namespace, field)
	return e
}
