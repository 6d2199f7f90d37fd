package standard

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// setupWriter is a lifecycle.SetupWriter with the dynamic client. It uses get and
// create, and patch for what it applies.
type setupWriter struct {
	client  dynamic.Interface
	manager string
}

var _ lifecycle.SetupWriter = (*setupWriter)(nil)

func newSetupWriter(config *rest.Config, manager string) (*setupWriter, error) {
	c := rest.CopyConfig(config)
	if c.QPS == 0 && c.RateLimiter == nil {
		c.QPS = -1
	}
	client, err := dynamic.NewForConfig(c)
	if err != nil {
		return nil, err
	}
	return &setupWriter{client: client, manager: manager}, nil
}

// Write reads the object first: what is there tells what the write did.
func (w *setupWriter) Write(ctx context.Context, o lifecycle.Object, resolved receipt.Object, opts lifecycle.WriteOptions) (lifecycle.ChangeType, error) {
	r := dynamic.ResourceInterface(w.client.Resource(schema.GroupVersionResource{Group: resolved.Group, Version: resolved.Version, Resource: resolved.Resource}))
	if resolved.Namespace != "" {
		r = w.client.Resource(schema.GroupVersionResource{Group: resolved.Group, Version: resolved.Version, Resource: resolved.Resource}).Namespace(resolved.Namespace)
	}
	var before *unstructured.Unstructured
	err := kubeclient.Retry(ctx, func() (err error) {
		before, err = r.Get(ctx, resolved.Name, metav1.GetOptions{})
		return err
	})
	missing := apierrors.IsNotFound(err)
	switch {
	case err != nil && !missing:
		return "", w.explain("read", resolved, err)
	case !missing && opts.Create:
		return lifecycle.ChangeUnchanged, nil
	case missing && opts.DryRun:
		return lifecycle.ChangeCreated, nil // its namespace may be missing too
	}
	var after *unstructured.Unstructured
	err = kubeclient.Retry(ctx, func() (err error) {
		if !opts.DryRun {
			if err := opts.Guard(ctx); err != nil {
				return &stopped{err}
			}
		}
		after, err = w.send(ctx, r, o, resolved, opts)
		return err
	})
	switch {
	case apierrors.IsAlreadyExists(err):
		return lifecycle.ChangeUnchanged, nil
	case err != nil:
		return "", w.explain("write", resolved, err)
	case missing:
		return lifecycle.ChangeCreated, nil
	case same(before, after):
		return lifecycle.ChangeUnchanged, nil
	}
	return lifecycle.ChangeConfigured, nil
}

func (w *setupWriter) send(ctx context.Context, r dynamic.ResourceInterface, o lifecycle.Object, resolved receipt.Object, opts lifecycle.WriteOptions) (*unstructured.Unstructured, error) {
	if opts.Create {
		u := &unstructured.Unstructured{}
		if err := json.Unmarshal(o.JSON, &u.Object); err != nil {
			return nil, err
		}
		return r.Create(ctx, u, metav1.CreateOptions{FieldManager: w.manager})
	}
	p := metav1.PatchOptions{FieldManager: w.manager, Force: ptr.To(opts.Force)}
	if opts.DryRun {
		p.DryRun = []string{metav1.DryRunAll}
	}
	return r.Patch(ctx, resolved.Name, types.ApplyPatchType, o.JSON, p)
}

// stopped ends a write whose guard refused.
type stopped struct{ err error }

func (e *stopped) Error() string { return e.err.Error() }
func (e *stopped) Unwrap() error { return e.err }

// Status keeps it from being tried again.
func (e *stopped) Status() metav1.Status { return metav1.Status{Code: http.StatusPreconditionFailed} }

// same says whether two looks at an object differ in nothing but bookkeeping.
func same(a, b *unstructured.Unstructured) bool {
	plain := func(u *unstructured.Unstructured) string {
		u = u.DeepCopy()
		u.SetManagedFields(nil)
		u.SetResourceVersion("")
		u.SetGeneration(0)
		unstructured.RemoveNestedField(u.Object, "status")
		data, _ := json.Marshal(u.Object) // it came as JSON
		return string(data)
	}
	return plain(a) == plain(b)
}

func (w *setupWriter) explain(op string, o receipt.Object, err error) error {
	if s, ok := err.(*stopped); ok {
		return s.err
	}
	e := &lifecycle.Error{Op: op, On: lifecycle.ObjectName(o), Err: err}
	switch {
	case apierrors.IsForbidden(err):
		e.Class, e.Advice = lifecycle.ErrUnreachable, "Have somebody prepare the target who may: kubectl pharos deploy. What it would write: kubectl pharos deploy --print all"
	case apierrors.IsConflict(err):
		return fmt.Errorf("%w: %w", &lifecycle.ConflictError{Conflicts: conflicts(o, err)}, err)
	case kubeclient.Unavailable(err):
		e.Class = lifecycle.ErrUnreachable
	}
	return e
}

// conflicts are the fields that somebody else owns, as the server names them.
func conflicts(o receipt.Object, err error) (list []lifecycle.Conflict) {
	status, ok := err.(apierrors.APIStatus)
	if !ok || status.Status().Details == nil {
		return nil
	}
	for _, c := range status.Status().Details.Causes {
		list = append(list, lifecycle.Conflict{Object: lifecycle.ObjectName(o), Field: c.Field, Owner: c.Message})
	}
	return list
}
