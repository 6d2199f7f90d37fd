package argocd

import (
	"errors"
	"fmt"
	"path"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/internal/objectjson"
	"github.com/pharos-dev/pharos/lifecycle"
)

// DefaultNamespace is where Argo CD is usually installed.
const DefaultNamespace = "argocd"

// Layout says which Applications deliver a target, and from which folders of
// the tree. Exactly one of Root and Applications is set.
type Layout struct {
	// Namespace is where the Applications are: Argo CD's own, or another that it
	// is told to watch. The default is DefaultNamespace.
	Namespace string
	// Repository is the address by which Argo CD fetches the repository, as it
	// stands in spec.source.repoURL. Sources with another one are left alone.
	Repository string
	// Overlay is the folder of the kustomization that a target names.
	Overlay string
	// Root is the name of an Application with the folder Overlay. The
	// Applications that its overlay declares are delivered with it.
	Root string
	// Applications are delivered side by side.
	Applications []Part
}

// Part is one of several Applications.
type Part struct {
	Name string
	// Paths are the folders of those of its sources that are in the repository.
	// The default is Overlay for an only Application, and else the folder of its
	// name in it.
	Paths []string
}

// resolve checks the layout and fills in its defaults.
func (l Layout) resolve() (Layout, error) {
	if l.Namespace == "" {
		l.Namespace = DefaultNamespace
	}
	var errs []error
	if l.Repository == "" {
		errs = append(errs, errors.New("argocd: Layout.Repository is missing: the address that Argo CD fetches from"))
	}
	switch {
	case (l.Root == "") == (len(l.Applications) == 0):
		errs = append(errs, errors.New("argocd: exactly one of Layout.Root and Layout.Applications must be set"))
	case l.Root != "":
		l.Applications = []Part{{Name: l.Root, Paths: []string{path.Clean(l.Overlay)}}}
	default:
		l.Applications = append([]Part(nil), l.Applications...)
		seen := map[string]bool{}
		for i := range l.Applications {
			p := &l.Applications[i]
			if p.Name == "" || seen[p.Name] {
				errs = append(errs, fmt.Errorf("argocd: Layout.Applications[%d].Name is %q, which is empty or there twice", i, p.Name))
			}
			seen[p.Name] = true
			if len(p.Paths) == 0 && len(l.Applications) == 1 {
				p.Paths = []string{path.Clean(l.Overlay)}
			} else if len(p.Paths) == 0 {
				p.Paths = []string{path.Join(l.Overlay, p.Name)}
			}
		}
	}
	return l, errors.Join(errs...)
}

// direct says whether an object is one of the Applications that Pharos itself
// points at the commit.
func (l Layout) direct(namespace, name string) bool {
	if namespace != l.Namespace {
		return false
	}
	for _, p := range l.Applications {
		if p.Name == name {
			return true
		}
	}
	return false
}

func isApplication(group, kind string) bool {
	return group == argo.Group && kind == argo.KindApplication
}

// objectOfMap is an object of the form that renderers return.
func objectOfMap(content map[string]any) (lifecycle.Object, error) {
	raw, err := objectjson.Encode(content)
	if err != nil {
		return lifecycle.Object{}, err
	}
	gv, err := schema.ParseGroupVersion(content["apiVersion"].(string))
	if err != nil {
		return lifecycle.Object{}, err
	}
	metadata := content["metadata"].(map[string]any)
	return lifecycle.Object{Group: gv.Group, Version: gv.Version, Kind: content["kind"].(string),
		Namespace: metadata["namespace"].(string), Name: metadata["name"].(string), JSON: raw}, nil
}
