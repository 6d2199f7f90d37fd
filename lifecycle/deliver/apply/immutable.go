package apply

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/receipt"
)

// immutableWords are in what the server says of a field that it would have taken
// in a new object. It has no reason of its own for that; these are the words of
// Kubernetes' validation.
var immutableWords = []string{
	"immutable",                     // most kinds, and what is marked immutable
	"Forbidden: updates to ",        // StatefulSets, storage and runtime classes
	"pod updates may not change",    // Pods
	"may not change once set",       // Services
	"may not be changed",            // priority classes
	"cannot change roleRef",         // bindings of roles
	"is only allowed to be changed", // CSI drivers
	"cannot be changed",             // transition rules of custom resources, by convention
}

func immutable(s metav1.Status) bool {
	return s.Code == http.StatusUnprocessableEntity &&
		slices.ContainsFunc(immutableWords, func(w string) bool { return strings.Contains(s.Message, w) })
}

// faultyFields are the fields that a refusal is about, each once.
func faultyFields(d *metav1.StatusDetails) []string {
	if d == nil {
		return nil
	}
	var list []string
	for _, c := range d.Causes {
		if c.Field != "" && !slices.Contains(list, c.Field) {
			list = append(list, c.Field)
		}
	}
	return list
}

// unchangeable names the fields first: what the server says of them may be a
// page of what they hold.
func unchangeable(s metav1.Status, err error) error {
	list := faultyFields(s.Details)
	if len(list) == 0 {
		return err
	}
	return fmt.Errorf("%s cannot be changed on an object that exists: %w", strings.Join(list, ", "), err)
}

// immutableAdvice is the way out: another name, by content where something gives
// it one, or to delete by hand.
func immutableAdvice(o receipt.Object) string {
	resource := o.Resource
	if o.Group != "" {
		resource += "." + o.Group
	}
	namespace := ""
	if o.Namespace != "" {
		namespace = " --namespace " + o.Namespace
	}
	name := "Give it another name"
	switch {
	case o.Group == "batch" && o.Kind == "Job":
		name = fmt.Sprintf("Annotate the Job with %s: \"true\", which gives each content a name of its own and runs it once, or give it another name", keys.RunOnce)
	case o.Group == "" && (o.Kind == "ConfigMap" || o.Kind == "Secret"):
		name = fmt.Sprintf("Have a %sGenerator of kustomize make it, which gives each content a name of its own, or give it another name",
			strings.ToLower(o.Kind[:1])+o.Kind[1:])
	}
	return fmt.Sprintf("%s, or delete it and deliver again (nothing is ever deleted for you, and what it holds goes with it): kubectl delete %s %s%s",
		name, resource, o.Name, namespace)
}
