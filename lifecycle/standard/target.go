package standard

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/strictyaml"
)

// DefaultNamespace is the namespace of a target that names none.
const DefaultNamespace = "pharos"

var (
	// ErrNoTarget is matched by the error of SelectTarget when there is no
	// target, or none of that name.
	ErrNoTarget = errors.New("no such target")
	// ErrSeveralTargets is matched by the error of SelectTarget when none is
	// named and there are several.
	ErrSeveralTargets = errors.New(catalogue.FileName + " has several targets")
)

// Target says where a tree is delivered: a Target document of a pharos.yaml.
type Target struct {
	// Name is the target's name, a DNS label (RFC 1123).
	Name string
	// Context is the context of the kubeconfig. Empty means the current one.
	Context string
	// Namespace is where the target's receipts and its lease are. The default
	// is DefaultNamespace.
	Namespace string
	// Registry is where images go.
	Registry Registry
	// Overlay is the folder of the kustomization, from the tree's root.
	Overlay string
	// Deliver is how objects reach the target.
	Deliver Deliver
	// Git is where the target fetches the repository from; nil if it does not.
	Git *Git
	// BuildKit is what builds Dockerfiles; nil if nothing does.
	BuildKit *BuildKit
	// Receipts is how the records of deliveries are kept.
	Receipts Receipts
	// Controller is what the target's controller does beside watching the lease, where
	// there is one.
	Controller TargetController
}

// TargetController is what a target's controller does where it is asked to. The zero
// value is nothing.
type TargetController struct {
	// Sweep are the resources of which it ends what is transient and past its end, as
	// kubectl names them, sorted: "configmaps", "jobs.batch". Namespaces among them have
	// it look at all but Secrets that is in one.
	Sweep []string
	// SweepNamespace is the only namespace in which it does. The default is all.
	SweepNamespace string
	// Inventory has it keep what the inventory counts, for trends.
	Inventory bool
}

// DefaultReceipts is how many receipts a target keeps that does not say.
const DefaultReceipts = 50

// Receipts is how the records of deliveries are kept.
type Receipts struct {
	// Keep is how many of the newest are kept, from lifecycle.MinKeep to 1000; see
	// lifecycle.Config. The default is DefaultReceipts. Zero, which no document
	// gives, keeps all.
	Keep int
}

// Registry is a registry, or a folder of one, as two sides see it. The image
// api of the registry "localhost:5000/dev" is "localhost:5000/dev/api".
type Registry struct {
	// Push is where builders push to.
	Push string
	// Pull is where the target pulls from. The default is Push.
	Pull string
	// Insecure allows plain HTTP for pushing.
	Insecure bool
}

// Deliver is how objects reach a target: exactly one of its pointers is set.
// The default is Apply.
type Deliver struct {
	Apply  *ApplyDeliver
	ArgoCD *ArgoCDDeliver
}

// ApplyDeliver writes the objects to the API server itself.
type ApplyDeliver struct{}

// ArgoCDDeliver has Argo CD write the objects. Exactly one of Root and
// Applications is set.
type ArgoCDDeliver struct {
	// Namespace is Argo CD's own. The default is "argocd".
	Namespace string
	// Root is the name of the Application whose Applications are delivered.
	Root string
	// Applications are the Applications that are delivered side by side, sorted
	// by name.
	Applications []ArgoCDApplication
}

// ArgoCDApplication is one of several Applications that are delivered.
type ArgoCDApplication struct {
	Name string
	// Paths are the folders of its sources in the repository. The default is the
	// target's overlay for an only Application, and else the folder of its name
	// in the overlay.
	Paths []string
}

// Git is the repository as two sides see it; neither URL holds credentials.
type Git struct {
	// URL is where the target fetches from.
	URL string
	// Push is where commits are pushed to. The default is URL.
	Push string
}

// ParseTargets reads the Target documents of a pharos.yaml, in the order of the
// file, with defaults filled in. The name of the file is used for errors only.
// A file without one gives none, which is no error: SelectTarget says so. The
// file's other documents are not looked at: they are catalogue.Parse's. The
// error is a *catalogue.ProblemsError with all that is wrong.
func ParseTargets(filename string, data []byte) ([]Target, error) {
	docs, err := strictyaml.Parse(filename, data)
	if err != nil {
		return nil, err
	}
	var targets []Target
	var errs []error
	taken := map[string]bool{}
	for _, doc := range docs {
		if doc.Peek("kind") != catalogue.KindTarget {
			continue
		}
		targets = append(targets, parseTarget(doc.Root(), taken))
		errs = append(errs, doc.Err())
	}
	if err := strictyaml.Join(errs...); err != nil {
		return nil, err
	}
	return targets, nil
}

// SelectTarget returns the target of that name or, for an empty name, the only
// target. The error lists the targets that there are, and matches ErrNoTarget or
// ErrSeveralTargets.
func SelectTarget(targets []Target, name string) (Target, error) {
	names := make([]string, len(targets))
	for i, t := range targets {
		if t.Name == name {
			return t, nil
		}
		names[i] = t.Name
	}
	list := strings.Join(names, ", ")
	switch {
	case len(targets) == 0:
		return Target{}, fmt.Errorf("%w: %s has no document of kind %s, which says where to deliver", ErrNoTarget, catalogue.FileName, catalogue.KindTarget)
	case name != "":
		return Target{}, fmt.Errorf("%w: %q is not among those of %s: %s", ErrNoTarget, name, catalogue.FileName, list)
	case len(targets) > 1:
		return Target{}, fmt.Errorf("%w: %s", ErrSeveralTargets, list)
	}
	return targets[0], nil
}
