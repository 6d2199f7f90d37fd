package apply

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// neverVersion is a resource version that no object has. An apply that names it
// creates an object, and is refused where there is one: the server compares the
// version of an object that is there, and discards it for a new one.
const neverVersion = "9223372036854775807"

// claim is under which condition an object may be written: only if it is not
// there, or only if it is the very object that was seen. So an object of
// somebody else is never touched, and nothing has to be asked first.
type claim struct {
	uid  string
	none bool // no condition: whatever is there may be taken over
}

func claimOf(held object, known, adopt bool) claim {
	if known {
		return claim{uid: uidOf(held)}
	}
	return claim{none: adopt}
}

// body is the object with the condition in it, which the server checks together
// with the write.
func (c claim) body(doc []byte) ([]byte, error) {
	m, err := readManifest(doc)
	switch {
	case err != nil:
		return nil, err
	case c.none:
		return doc, nil
	case c.uid != "":
		return m.with("uid", c.uid), nil
	}
	return m.with("resourceVersion", neverVersion), nil
}

// refused says whether the server's answer may be due to the condition.
func (c claim) refused(err error) bool {
	s, ok := answered(err)
	if !ok || c.none {
		return false
	}
	if c.uid == "" {
		return s.Code == http.StatusConflict
	}
	switch s.Code {
	case http.StatusConflict:
		return strings.Contains(s.Message, "uid mismatch")
	case http.StatusUnprocessableEntity:
		return slices.Contains(faultyFields(s.Details), "metadata.uid")
	}
	return false
}

// held returns the one object as the target has it now.
func (d *Deliverer) held(ctx context.Context, o receipt.Object, accept string) (object, bool, error) {
	var page page
	c := collectionOf(o)
	_, err := d.client.do(ctx, request{method: http.MethodGet, path: c.path(), accept: accept, into: &page,
		query: url.Values{"fieldSelector": {"metadata.name=" + o.Name}}})
	if s, ok := answered(err); ok && s.Code == http.StatusNotFound {
		return nil, false, nil
	}
	if err != nil || len(page.Items) == 0 {
		return nil, false, err
	}
	named(page.Items[0], c)
	return page.Items[0], true, nil
}

// foreign says whose an object is that does not belong to the target.
func foreign(held object, target, manager string) (owner string, yes bool) {
	u := unstructured.Unstructured{Object: held}
	labels, annotations := u.GetLabels(), u.GetAnnotations()
	entries := managers(held)
	of := labels[keys.Target]
	// Namespaces that Pharos prepares are no target's, and say so by a label.
	if of == target || of == "" && labels[keys.ManagedBy] == keys.Manager || slices.ContainsFunc(entries, func(e managedBy) bool {
		// What Pharos itself prepares has the manager without a target's name.
		return of == "" && (e.manager == keys.Manager || e.operation == "Apply" && e.manager == manager)
	}) {
		return "", false
	}
	var names []string
	for _, e := range entries {
		if e.subresource == "" && !slices.Contains(names, e.manager) {
			names = append(names, e.manager)
		}
	}
	switch by := labels[keys.ManagedBy]; {
	case of != "":
		return "the target " + strconv.Quote(of), true
	case annotations["meta.helm.sh/release-name"] != "":
		return "the Helm release " + strconv.Quote(annotations["meta.helm.sh/release-name"]), true
	case annotations["argocd.argoproj.io/tracking-id"] != "":
		app, _, _ := strings.Cut(annotations["argocd.argoproj.io/tracking-id"], ":")
		return "the Argo CD Application " + strconv.Quote(app), true
	case len(u.GetOwnerReferences()) > 0:
		ref := u.GetOwnerReferences()[0]
		return ref.Kind + " " + ref.Name, true
	case by != "":
		return strconv.Quote(by), true
	case len(names) > 0:
		return `"` + strings.Join(names, `", "`) + `"`, true
	}
	return "somebody else", true
}

// errContested ends a write whose object others create and remove meanwhile.
var errContested = errors.New("it is created and deleted by somebody else over and over")

func wholeConflict(o receipt.Object, owner string) error {
	return &lifecycle.ConflictError{Conflicts: []lifecycle.Conflict{{Object: lifecycle.ObjectName(o), Owner: owner}}}
}

func uidOf(o object) string {
	return string((&unstructured.Unstructured{Object: o}).GetUID())
}
