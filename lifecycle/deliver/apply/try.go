package apply

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// Form is the form of what a Trial sends.
type Form string

// The forms: a whole object, which is created, and the patches that Kubernetes
// knows.
const (
	FormObject         Form = "application/json"
	FormApply          Form = applyPatch
	FormStrategicMerge Form = "application/strategic-merge-patch+json"
	FormMerge          Form = "application/merge-patch+json"
)

// Trial is a write by another program than this one, such as Argo CD, that is
// only tried.
type Trial struct {
	// Object is what is written.
	Object receipt.Object
	// Form says what Body is.
	Form Form
	Body []byte
	// Manager is the field manager of the program.
	Manager string
}

// ErrExists is matched by the error of a trial to create what is there already.
var ErrExists = errors.New("it is there already")

// Try asks the server by a dry run what it would make of a write, and returns the
// whole object as JSON. It writes nothing, and takes fields over as the program
// would. What a manifest has that its kind does not is left out and logged, as
// the server does where it is not told to be strict.
//
// A dry run is authorised like the write: where we may not make it, the error
// matches lifecycle.ErrForbidden. Other errors are as of Deliver: what the server
// refuses matches lifecycle.ErrSource, and holds the server's answer.
func (d *Deliverer) Try(ctx context.Context, t Trial) ([]byte, error) {
	c := collectionOf(t.Object)
	r := request{
		method: http.MethodPatch, path: path.Join(c.path(), t.Object.Name), accept: acceptJSON, body: t.Body, contentType: string(t.Form),
		query: url.Values{"dryRun": {metav1.DryRunAll}, "fieldManager": {t.Manager}},
		final: apierrors.IsAlreadyExists,
	}
	switch t.Form {
	case FormObject:
		r.method, r.path = http.MethodPost, c.path()
	case FormApply:
		r.query.Set("force", "true")
	}
	var answer string
	r.into = &answer
	_, err := d.client.do(ctx, r)
	switch s, _ := answered(err); {
	case err == nil:
		return []byte(answer), nil
	case t.Form == FormObject && apierrors.IsAlreadyExists(err):
		return nil, ErrExists
	case s.Code == http.StatusForbidden && (missingRight(s) || escalates(s)):
		return nil, &lifecycle.Error{Op: "try", On: lifecycle.ObjectName(t.Object), Class: notAllowed, Err: err,
			Advice: "Ask an administrator for the rights to create and patch " + c.name() + "."}
	}
	err, _ = d.explainApply(ctx, t.Object, err)
	return nil, err
}

// notAllowed is the class of what we have no right to.
var notAllowed = errors.Join(lifecycle.ErrUnreachable, lifecycle.ErrForbidden)

// escalates tells the refusal of roles that grant more than we have. Who applies
// them may have it.
func escalates(s metav1.Status) bool {
	return strings.Contains(s.Message, "attempting to grant RBAC permissions not currently held")
}

// Find returns the objects as the target holds them, whole and as JSON, in the
// same order: nil for one that is not there, or does not carry the target's label.
// It takes one list for each resource. The errors are those of single objects:
// where we may not list, they match lifecycle.ErrForbidden.
func (d *Deliverer) Find(ctx context.Context, target string, objects []receipt.Object) (found [][]byte, errs []error) {
	found, errs = make([][]byte, len(objects)), make([]error, len(objects))
	order, namespaces := collections(objects)
	var mu sync.Mutex
	held := map[key]object{}
	failed := map[collection]error{}
	d.each(ctx, len(order), func(i int) {
		lists, err := d.listOne(ctx, order[i], namespaces[order[i]], target, acceptJSON)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			failed[order[i]] = d.reading(ctx, order[i].name(), err)
		}
		for _, l := range lists {
			for _, item := range l.items {
				held[keyIn(l.of, item)] = item
			}
		}
	})
	for i, o := range objects {
		errs[i] = failed[collectionOf(o).in("")]
		encode(held[keyOf(o)], &found[i], &errs[i])
	}
	return found, errs
}

// Get returns one object as the target holds it, whole and as JSON, whether or not
// it carries a label; nil if it is not there. Errors are as of Find.
func (d *Deliverer) Get(ctx context.Context, o receipt.Object) (found []byte, err error) {
	held, _, err := d.held(ctx, o, acceptJSON)
	if err != nil {
		return nil, d.reading(ctx, lifecycle.ObjectName(o), err)
	}
	encode(held, &found, &err)
	return found, err
}

// reading explains why something could not be read.
func (d *Deliverer) reading(ctx context.Context, what string, err error) error {
	if s, _ := answered(err); s.Code == http.StatusForbidden {
		return &lifecycle.Error{Op: "list", On: what, Class: notAllowed, Err: err, Advice: "Ask an administrator for this right."}
	}
	return d.client.explain(ctx, "list", what, err)
}
