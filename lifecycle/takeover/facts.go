package takeover

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/objectjson"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// Facts are what a plan is made of: a working tree, and a target as its live receipt
// and its API server describe it. [Read] reads them.
type Facts struct {
	Target, ClusterUID string
	// Applied and Live are the IDs of the target's receipts, Record is the live one:
	// nil if there is none, or it cannot be read.
	Applied, Live receipt.ID
	Record        *receipt.Record
	// Unreadable are the records of the target that cannot be used.
	Unreadable []lifecycle.Unreadable

	// Tree is the working tree's ID, Images are those of its catalogue, Delivery is
	// what that delivers, and States are the images that have a fingerprint. Failed
	// are those that have none.
	Tree     source.ID
	Images   []catalogue.Image
	Delivery catalogue.Patterns
	States   []catalogue.State
	Failed   []*catalogue.ImageError
	// Changes are what differs between the live receipt's tree and the working tree.
	Changes []catalogue.PathClass

	// Reasons say why the fingerprints differ from the receipt's, by image.
	Reasons map[string][]catalogue.Reason

	// Declared are the objects of the live receipt, as its commit renders.
	Declared []Declared
	// Deployments are the Deployments among them as they are on the target, as JSON;
	// what is not there is missing.
	Deployments map[types.NamespacedName][]byte
	// Applications are those that bring Deployments to the target, by their names as
	// in Declared.By: whether each puts back what was changed. Controller is whether
	// the target's controller does.
	Applications map[string]Healer
	Controller   Healer
}

// Declared is an object that a receipt delivered.
type Declared struct {
	receipt.Object
	// By names what brings the object to the target, such as "Application
	// argocd/shop"; empty if Pharos itself does.
	By string
	// JSON is the object as it is declared.
	JSON []byte
}

// Healer is something that may put a workload back when whoever took it over is gone.
type Healer struct {
	// Name is for people: "Application argocd/shop", "the controller of target devbox".
	Name string
	// Why says in one line why it would not; empty if it would.
	Why string
	// Namespaces are those in which the controller may put workloads back, and nowhere
	// else. An Application has none: it is known by what it delivers.
	Namespaces []string
}

// in is a controller as it is for a workload of a namespace.
func (h Healer) in(namespace string) Healer {
	if h.Name != "" && h.Why == "" && !slices.Contains(h.Namespaces, namespace) {
		h.Why = "it has no rights in namespace " + namespace + ", which a deploy gives it: kubectl pharos deploy"
	}
	return h
}

// key is the name of an object on the target.
func (d Declared) key() types.NamespacedName {
	return types.NamespacedName{Namespace: d.Namespace, Name: d.Name}
}

func (d Declared) isDeployment() bool { return d.Group == "apps" && d.Kind == "Deployment" }

// image is the image of the working tree's catalogue of that name.
func (f Facts) image(name string) (catalogue.Image, bool) {
	i := slices.IndexFunc(f.Images, func(img catalogue.Image) bool { return img.Name == name })
	if i < 0 {
		return catalogue.Image{}, false
	}
	return f.Images[i], true
}

// use is a place in an object that names an image of the receipt.
type use struct {
	image string // its name
	// container is the name of the container; empty if it is not one of a
	// Deployment that runs as long as its pod.
	container string
	where     string // for people
}

// uses are the places of an object that name images of the record.
func uses(d Declared, record *receipt.Record) ([]use, error) {
	doc, err := objectjson.Decode(d.JSON)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", lifecycle.ObjectName(d.Object), err)
	}
	names := map[string]string{}
	for _, i := range record.Images {
		names[i.Repository+"@"+i.Digest] = i.Name
	}
	var found []use
	if d.isDeployment() {
		found = takeContainers(doc, names)
	}
	mentions(doc, names, func(image string) {
		found = append(found, use{image: image, where: "it names the image"})
	})
	return found, nil
}

// takeContainers returns the uses by containers of a Deployment, and takes them out of
// the document.
func takeContainers(doc map[string]any, names map[string]string) (found []use) {
	spec, _ := path(doc, "spec", "template", "spec")
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := spec[list].([]any)
		for _, c := range containers {
			container, _ := c.(map[string]any)
			ref, _ := container["image"].(string)
			name, _ := container["name"].(string)
			image, known := names[ref]
			if !known {
				continue
			}
			delete(container, "image")
			u := use{image: image, container: name, where: "container " + name}
			if list == "initContainers" {
				u.container, u.where = "", "initContainer "+name
			}
			found = append(found, u)
		}
	}
	return found
}

func path(doc map[string]any, fields ...string) (map[string]any, bool) {
	for _, f := range fields {
		next, ok := doc[f].(map[string]any)
		if !ok {
			return nil, false
		}
		doc = next
	}
	return doc, true
}

// mentions calls found for each string of a document that is a name's key.
func mentions(doc any, names map[string]string, found func(image string)) {
	switch v := doc.(type) {
	case string:
		if image, ok := names[v]; ok {
			found(image)
		}
	case []any:
		for _, e := range v {
			mentions(e, names, found)
		}
	case map[string]any:
		for _, k := range slices.Sorted(keysOf(v)) {
			mentions(v[k], names, found)
		}
	}
}

func decode(doc []byte, into any) error { return json.Unmarshal(doc, into) }
