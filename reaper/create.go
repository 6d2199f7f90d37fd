package reaper

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// ErrLedger is matched by the error of a tier's ledger that cannot be read.
var ErrLedger = errors.New("the tier's ledger cannot be read")

// Creation is an object to create within a tier.
type Creation struct {
	// Ref says what it is; Kind is needed, and of name and UID nothing is read.
	Ref Ref
	// Object is the object, which is not changed: what encoding/json makes an object
	// of, such as a *corev1.Pod or an *unstructured.Unstructured. Its namespace is
	// Ref's.
	Object any
	// Intent says when it ends, and whose it is. It has to be Transient.
	Intent Intent
	// Tier are the limits. All who create within a tier say the same.
	Tier Tier
	// Ledger is the namespace of the ledger.
	Ledger string
}

// Create admits an object within a tier and creates it with its intent, in one step
// that others cannot come between, and returns the object as it is then. What of it
// is there counts until it is gone, however it goes.
//
// What is admitted stands in a ledger, the ConfigMap pharos-tier-NAME in the namespace
// of c.Ledger, which is only written by compare-and-swap: first the admission, then the
// object, then that it is there. If the process is killed in between, the admission
// counts for two minutes; after that the next Create that finds no room looks whether
// the object is there, and forgets it if not. It counts what Create made; the quotas of
// reaper/policy hold for everybody.
//
// The error is a *DeniedError if the tier has no room, ErrIntent if the intent is not
// one to create with, ErrNamespaceEnds if the object would go with its namespace, ErrTier,
// ErrLedger, ErrConflict, or the API server's (see
// k8s.io/apimachinery/pkg/api/errors). After a connection that was lost the object may
// be there all the same; its name tells.
//
// It takes the rights to create the object, to list its resource in its namespace, when
// there is no room also whatever else the tier has, where it has it, to get its
// namespace, and to get, create and update ConfigMaps in the ledger's namespace. What cannot be listed counts as it
// stands in the ledger, and so does what is of a kind that is not served any more.
func (c *Client) Create(ctx context.Context, n Creation) (Object, error) {
	n.Ref.Name, n.Ref.UID = "", ""
	body, meta, err := objectOf(n)
	if err != nil {
		return Object{}, createError(n, err)
	}
	n.Ref.Name = cmp.Or(meta.GetName(), meta.GetGenerateName())
	o, err := c.create(ctx, n, body, meta)
	if err != nil {
		return o, createError(n, err)
	}
	return o, nil
}

// createError wraps what went wrong with a creation.
func createError(n Creation, err error) error {
	e := &Error{Op: "create", Object: n.Ref.String(), Err: err}
	switch {
	case apierrors.IsUnauthorized(err):
		e.Advice = "Renew the credentials of the kubeconfig's user: the server does not accept them."
	case errors.Is(err, ErrNamespaceEnds):
		e.Advice = fmt.Sprintf("Create it in another namespace, or keep that one as long as it is there: kubectl pharos extend namespace/%s --for 1h", n.Ref.Namespace)
	case apierrors.IsForbidden(err):
		e.Advice = kubeclient.ForbiddenAdvice(err, n.Ref.Namespace, fmt.Sprintf("The rights to create and list %s are needed, to list whatever else the tier has, to get the namespace, and to get, create and update configmaps in %s.", n.Ref.resource(), n.Ledger))
	case errors.Is(err, ErrLedger):
		e.Advice = fmt.Sprintf("Look at what it says, and delete it, so that it begins anew with what is there: kubectl delete configmap --namespace %s %s", n.Ledger, ledgerName(n.Tier.Name))
	}
	return e
}

func (c *Client) create(ctx context.Context, n Creation, body map[string]any, meta *unstructured.Unstructured) (Object, error) {
	r, err := requestsOf(n.Ref.Group, n.Ref.Kind, body)
	if errors.Is(err, errUnknownRequests) && n.Tier.CPU == Unlimited && n.Tier.Memory == Unlimited {
		err = nil
	}
	if err = errors.Join(err, n.Tier.Check()); err != nil {
		return Object{}, err
	}
	now, err := c.Now(ctx)
	if err != nil {
		return Object{}, err
	}
	if err := n.Tier.checkIntent(n.Intent, now); err != nil {
		return Object{}, err
	}
	e := entry{ID: rand.Text(), Group: n.Ref.Group, Version: n.Ref.Version, Resource: n.Ref.Resource, Namespace: n.Ref.Namespace, requests: r}
	if err := brand(meta, n, e); err != nil {
		return Object{}, err
	}
	text, err := json.Marshal(body)
	if err != nil {
		return Object{}, err
	}
	admitted, err := c.admit(ctx, n, e)
	if err != nil {
		return Object{}, err
	}
	return c.createAdmitted(ctx, n, e, text, admitted)
}

// objectOf is the object as it is written, and its metadata.
func objectOf(n Creation) (map[string]any, *unstructured.Unstructured, error) {
	if n.Ref.Version == "" || n.Ref.Resource == "" || n.Ref.Kind == "" {
		return nil, nil, fmt.Errorf("%w: version, resource and kind are needed, and there are %q, %q and %q", errRef, n.Ref.Version, n.Ref.Resource, n.Ref.Kind)
	}
	text, err := json.Marshal(n.Object)
	if err != nil {
		return nil, nil, err
	}
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(text, &u.Object); err != nil || u.Object == nil {
		return nil, nil, fmt.Errorf("%T is no object: %w", n.Object, err)
	}
	u.SetKind(n.Ref.Kind)
	u.SetAPIVersion(strings.TrimPrefix(n.Ref.Group+"/"+n.Ref.Version, "/"))
	u.SetNamespace(n.Ref.Namespace)
	return u.Object, u, nil
}

// brand writes the intent and the admission on an object.
func brand(u *unstructured.Unstructured, n Creation, e entry) error {
	how, err := json.Marshal(admission{e.ID, e.requests})
	if err != nil {
		return err
	}
	n.Intent.LastActive = time.Time{} // it is created now
	labels, annotations := n.Intent.write()
	labels[keys.Tier] = n.Tier.Name
	annotations[keys.Admitted] = string(how)
	merge := func(has, more map[string]string) map[string]string {
		if has == nil {
			has = map[string]string{}
		}
		maps.Copy(has, more)
		return has
	}
	has := u.GetAnnotations()
	for _, key := range []string{keys.TTL, keys.ExpiresAt, keys.LastActive, keys.Grace, keys.OnExpiry} {
		delete(has, key) // the intent is what is asked for
	}
	u.SetLabels(merge(u.GetLabels(), labels))
	u.SetAnnotations(merge(has, annotations))
	return nil
}

// sendWithin is how long after its admission an object is still sent to the server,
// and how long that may take to answer. Both together are less than pending.
const sendWithin = 30 * time.Second

// createAdmitted creates the object, and writes down what became of it.
func (c *Client) createAdmitted(ctx context.Context, n Creation, e entry, body []byte, admitted time.Time) (Object, error) {
	if time.Since(admitted) > sendWithin { // a process that was stopped for a while
		err := fmt.Errorf("it took longer than %s from its admission on: try again", sendWithin)
		return Object{}, errors.Join(err, c.release(ctx, n, e.ID))
	}
	if err := c.accepts(ctx, n.Ref.Namespace); err != nil {
		return Object{}, errors.Join(err, c.release(ctx, n, e.ID))
	}
	post, cancel := context.WithTimeout(ctx, sendWithin)
	defer cancel()
	n.Ref.Name = ""
	var m metav1.PartialObjectMetadata
	err := c.rest.Post().AbsPath(n.Ref.path()).MaxRetries(0).Param("fieldManager", keys.Manager).
		SetHeader("Content-Type", "application/json").SetHeader("Accept", kubeclient.MetadataOnly).Body(body).Do(post).Into(&m)
	switch {
	case err == nil:
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return Object{}, errors.Join(fmt.Errorf("%w: %w", ErrNamespaceEnds, err), c.release(ctx, n, e.ID))
	case kubeclient.Refused(err):
		return Object{}, errors.Join(err, c.release(ctx, n, e.ID))
	default:
		return Object{}, err // it may be there: who comes next looks
	}
	o := ObjectOf(n.Ref.Group, n.Ref.Kind, &m)
	// That it fails does no harm: the object is there, and who looks next sees it.
	_ = c.change(ctx, n, func(l *ledger) error { l.seen(e.ID); return nil })
	return o, nil
}

// accepts says why nothing is to be put into a namespace: it would go with it.
func (c *Client) accepts(ctx context.Context, namespace string) error {
	if namespace == "" {
		return nil
	}
	o, err := c.get(ctx, Ref{Version: "v1", Resource: "namespaces", Kind: "Namespace", Name: namespace})
	switch {
	case kubeclient.NotFound(err):
		return nil // the creation says so
	case err != nil:
		return fmt.Errorf("look whether namespace %s is about to be deleted: %w", namespace, err)
	case !o.Deleted.IsZero():
		return fmt.Errorf("%w: namespace %s is being deleted since %s", ErrNamespaceEnds, namespace, FormatTime(o.Deleted))
	}
	if since, marked := o.Annotations[keys.Ending]; marked {
		return fmt.Errorf("%w: namespace %s is marked with %s since %q", ErrNamespaceEnds, namespace, keys.Ending, since)
	}
	return nil
}

// admit writes the admission into the ledger, and returns when it was.
func (c *Client) admit(ctx context.Context, n Creation, e entry) (time.Time, error) {
	var at time.Time // of this machine, when the server's was e.At
	err := c.change(ctx, n, func(l *ledger) error {
		if l.has(e.ID) { // it was written, and only the answer lost
			return nil
		}
		now := c.clock.Now()
		e.At, at = now.Unix(), time.Now()
		denials := l.admit(n.Tier, e, now)
		if len(denials) == 0 {
			return nil
		}
		err := c.look(ctx, n, l, now)
		if denials = l.admit(n.Tier, e, now); len(denials) == 0 {
			return nil
		}
		return errors.Join(&DeniedError{Tier: n.Tier.Name, Denials: denials}, err)
	})
	return at, err
}

// look brings the ledger to what is there.
func (c *Client) look(ctx context.Context, n Creation, l *ledger, now time.Time) error {
	var errs []error
	for _, at := range l.wheres() {
		version := l.version(at)
		if at.Group == n.Ref.Group && at.Resource == n.Ref.Resource {
			version = n.Ref.Version // which is served, or nothing is created
		}
		there, version, err := c.listServed(ctx, at, version, n.Tier.Name)
		if err != nil { // what cannot be seen counts as there
			errs = append(errs, fmt.Errorf("look at %s: %w", at, err))
			continue
		}
		l.see(at, version, there, now)
	}
	return errors.Join(errs...)
}

// listServed lists a place in the version, or if that is not served any more, in one
// that is.
func (c *Client) listServed(ctx context.Context, at where, version, tier string) ([]Object, string, error) {
	there, err := c.list(ctx, at, version, tier)
	if at.Group == "" || !apierrors.IsNotFound(err) {
		return there, version, err
	}
	var group metav1.APIGroup
	if kubeclient.Retry(ctx, func() error { return c.json(ctx, c.rest.Get().AbsPath("/apis/"+url.PathEscape(at.Group)), &group) }) != nil {
		return nil, version, err
	}
	for _, v := range group.Versions {
		there, verr := c.list(ctx, at, v.Version, tier)
		if !apierrors.IsNotFound(verr) {
			return there, v.Version, verr
		}
	}
	return nil, version, err
}

// list returns what is there of a tier in one place, as it is now and not as a cache
// has it.
func (c *Client) list(ctx context.Context, at where, version, tier string) ([]Object, error) {
	var all []Object
	var next string
	for {
		var page metav1.PartialObjectMetadataList
		err := kubeclient.Retry(ctx, func() error {
			return c.rest.Get().AbsPath(Ref{Group: at.Group, Version: version, Resource: at.Resource, Namespace: at.Namespace}.path()).MaxRetries(0).
				SetHeader("Accept", kubeclient.MetadataOnlyList).
				Param("labelSelector", keys.Tier+"="+tier).Param("limit", "500").Param("continue", next).Do(ctx).Into(&page)
		})
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			all = append(all, ObjectOf(at.Group, "", &page.Items[i]))
		}
		if next = page.Continue; next == "" {
			return all, nil
		}
	}
}

// release takes an admission back.
func (c *Client) release(ctx context.Context, n Creation, id string) error {
	return c.change(ctx, n, func(l *ledger) error { l.release(id); return nil })
}

const ledgerKey = "ledger.json"

func ledgerName(tier string) string { return "pharos-tier-" + tier }

// maxSwaps is how often a ledger is changed anew when others did in between: every time
// another one got ahead.
const maxSwaps = 500

// change changes the ledger by compare-and-swap. f may be called several times, each
// time with the ledger as it is then, which may have its own change already.
func (c *Client) change(ctx context.Context, n Creation, f func(*ledger) error) error {
	at := Ref{Version: "v1", Resource: "configmaps", Kind: "ConfigMap", Namespace: n.Ledger, Name: ledgerName(n.Tier.Name)}
	fail := func(err error) error { return fmt.Errorf("the ledger %s: %w", at, err) }
	for range maxSwaps {
		m, err := c.readLedger(ctx, at, n)
		if err != nil {
			return fail(err)
		}
		l, err := readLedger(m.Data[ledgerKey])
		if err != nil {
			return fail(fmt.Errorf("%w: %w", ErrLedger, err))
		}
		if err := f(&l); err != nil {
			return err
		}
		text, err := json.Marshal(l)
		if err != nil {
			return fail(err)
		}
		m.Data = map[string]string{ledgerKey: string(text)}
		// When it was written and the answer lost, the next try is a conflict, and f
		// sees what it did.
		err = kubeclient.Retry(ctx, func() error { return c.writeLedger(ctx, at, m) })
		if err == nil {
			return nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			return fail(err)
		}
	}
	return fail(ErrConflict)
}

// readLedger returns the ledger, or a new one, which knows what is there of the kind.
func (c *Client) readLedger(ctx context.Context, at Ref, n Creation) (*corev1.ConfigMap, error) {
	m := &corev1.ConfigMap{}
	err := kubeclient.Retry(ctx, func() error { return c.json(ctx, c.rest.Get().AbsPath(at.path()), m) })
	if !kubeclient.NotFound(err) {
		return m, err
	}
	w := where{n.Ref.Group, n.Ref.Resource, n.Ref.Namespace}
	there, err := c.list(ctx, w, n.Ref.Version, n.Tier.Name)
	if err != nil {
		return nil, fmt.Errorf("it begins with what is there: look at %s: %w", w, err)
	}
	var l ledger
	l.see(w, n.Ref.Version, there, c.clock.Now())
	text, err := json.Marshal(l)
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: at.Name, Namespace: at.Namespace,
			Labels: map[string]string{keys.ManagedBy: keys.Manager, keys.TierLedger: n.Tier.Name}},
		Data: map[string]string{ledgerKey: string(text)},
	}, err
}

// writeLedger creates a ledger that has no resourceVersion, and else replaces the one
// that has it.
func (c *Client) writeLedger(ctx context.Context, at Ref, m *corev1.ConfigMap) error {
	m.ManagedFields = nil
	m.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	req := c.rest.Put().AbsPath(at.path())
	if m.ResourceVersion == "" {
		at.Name = ""
		req = c.rest.Post().AbsPath(at.path())
	}
	return c.json(ctx, req.Param("fieldManager", keys.Manager).SetHeader("Content-Type", "application/json").Body(body), &corev1.ConfigMap{})
}

// json makes a request whose answer is JSON.
func (c *Client) json(ctx context.Context, r *rest.Request, into any) error {
	result := r.MaxRetries(0).SetHeader("Accept", "application/json").Do(ctx)
	if err := result.Error(); err != nil { // which Raw does not read
		return err
	}
	text, err := result.Raw()
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
