package divert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// Config is what a Writer needs.
type Config struct {
	// REST is how the API server is reached. It is copied. Required.
	REST *rest.Config
	// Guard is called right before each write, and an error keeps it from being made:
	// lease.Held's Check, for example. The default lets all pass.
	Guard func(ctx context.Context) error
	// Target has Restore write only Deployments that bear the label pharos.dev/target
	// with this value. The default is not to look at it.
	Target string
	// Log receives what is tried again. The default discards it.
	Log *slog.Logger
}

// Writer writes diversions on a cluster. It is safe for concurrent use.
type Writer struct {
	config Config
	apps   rest.Interface
}

// New returns a Writer. It makes no call. The error matches ErrInvalid.
func New(c Config) (*Writer, error) {
	if c.REST == nil {
		return nil, fmt.Errorf("divert: %w Config: REST is required", ErrInvalid)
	}
	if c.Guard == nil {
		c.Guard = func(context.Context) error { return nil }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	apps, err := kubeclient.New(c.REST, appsv1.SchemeGroupVersion, appsv1.AddToScheme)
	if err != nil {
		return nil, fmt.Errorf("divert: %w Config.REST: %w", ErrInvalid, err)
	}
	return &Writer{config: c, apps: apps}, nil
}

// Read returns the JSON of a Deployment, as Plan takes it. ErrGone if there is none.
// One API call.
func (w *Writer) Read(ctx context.Context, s Subject) ([]byte, error) {
	var doc []byte
	err := kubeclient.Retry(ctx, func() (err error) {
		doc, err = raw(w.request(w.apps.Get(), s).Do(ctx))
		return err
	})
	if err != nil {
		return nil, w.fail("read", s, err)
	}
	return doc, nil
}

// raw is the body of an answer. The error is what the server says; that of Raw alone
// has not read it.
func raw(r rest.Result) ([]byte, error) {
	doc, err := r.Raw()
	if err != nil {
		return nil, cmp.Or(r.Error(), err)
	}
	return doc, nil
}

func (w *Writer) request(r *rest.Request, s Subject) *rest.Request {
	return r.MaxRetries(0).Namespace(s.Namespace).Resource("deployments").Name(s.Name).SetHeader("Accept", "application/json")
}

// DryRun has the API server try a diversion, with its admission, and writes nothing. It
// asks no Guard. ErrRejected if the server does not accept it, or if admission puts
// something else in the place of the agent; ErrChanged or ErrGone if it is not what was
// planned with. Up to two API calls.
func (w *Writer) DryRun(ctx context.Context, d Diversion) error {
	patch, err := d.Patch()
	if err != nil {
		return err
	}
	var doc []byte
	err = kubeclient.Retry(ctx, func() (err error) {
		doc, err = raw(w.patch(d.Subject, patch).Param("dryRun", metav1.DryRunAll).Do(ctx))
		return err
	})
	if err == nil {
		return d.accepted(doc)
	}
	o, made, why := w.refused(ctx, d, d.Generation, err)
	switch {
	case why != nil:
		return why
	case made:
		return fmt.Errorf("divert %s: %w: it is diverted already", d.Subject, ErrChanged)
	case o.Generation != d.Generation:
		return d.changed(o)
	}
	return w.fail("try to divert", d.Subject, err)
}

func (w *Writer) patch(s Subject, patch []byte) *rest.Request {
	return w.request(w.apps.Patch(types.JSONPatchType), s).Param("fieldManager", keys.TakeoverManager).Body(patch)
}

// attempts bounds how often it is written where others write at the same time.
const attempts = 7

// Divert diverts a container, with one patch, which the API server makes only if the
// Deployment is still the one that was planned with. It may be called again, also after
// it was killed: what is diverted already is left as it is, whatever else somebody has
// changed of the Deployment, and what they have put back of a diversion is diverted
// again. ErrChanged or ErrGone if it is not what was planned with; ErrOverwritten if it
// was diverted, and somebody has put other values there; ErrRejected if the API server
// does not accept it, or if admission put something else in the place of the agent,
// which then is to be restored; the Guard's error. After any other error it may be
// diverted.
func (w *Writer) Divert(ctx context.Context, d Diversion) error {
	patch, err := d.Patch()
	if err != nil {
		return err
	}
	generation := d.Generation // that of the Deployment which the patch is for
	for n := 1; ; n++ {
		if err := w.config.Guard(ctx); err != nil {
			return fmt.Errorf("divert %s: %w", d.Subject, err)
		}
		doc, err := raw(w.patch(d.Subject, patch).Do(ctx))
		if err == nil {
			return d.accepted(doc)
		}
		// Whatever the answer was, or was not: what stands there counts.
		o, done, why := w.refused(ctx, d, generation, err)
		switch {
		case done || why != nil:
			return why
		case n == attempts || ctx.Err() != nil:
			return w.fail("divert", d.Subject, err)
		}
		w.config.Log.Debug("diverted again", "workload", d.Subject.String(), "attempt", n, "err", err)
		if generation != o.Generation {
			generation = o.Generation
			if patch, err = d.patch(o, generation); err != nil {
				return err
			}
			continue
		}
		if err := kubeclient.Pause(ctx, n, err); err != nil {
			return w.fail("divert", d.Subject, err)
		}
	}
}

// refused finds out what became of a patch for a generation whose answer was an error:
// it was made, or it will never be, which the error says. Neither, if it can be tried
// again, with what stands there now.
func (w *Writer) refused(ctx context.Context, d Diversion, generation int64, cause error) (o deployment, done bool, _ error) {
	if apierrors.IsNotFound(cause) {
		return o, false, w.fail("divert", d.Subject, cause)
	}
	doc, err := w.Read(ctx, d.Subject)
	if err != nil {
		return o, false, errors.Join(w.fail("divert", d.Subject, cause), err)
	}
	if o, err = parse("on the cluster", doc); err != nil {
		return o, false, err
	}
	whole, made, overwritten := d.stands(o)
	switch {
	case string(o.UID) != d.UID:
		return o, false, fmt.Errorf("divert %s: %w: the one of this name is another one", d.Subject, ErrGone)
	case whole:
		return o, true, nil
	case made && len(overwritten) > 0:
		return o, false, fmt.Errorf("divert %s: %w: %s of container %q\nHand it back, which keeps that: kubectl pharos handback", d.Subject, ErrOverwritten, strings.Join(overwritten, ", "), d.Container)
	case !made && o.Generation != d.Generation:
		return o, false, d.changed(o)
	case o.Generation == generation && final(cause):
		return o, false, rejected("divert", d.Subject, cause)
	}
	return o, false, nil
}

// changed says that it is not the generation that was planned with.
func (d Diversion) changed(o deployment) error {
	return fmt.Errorf("divert %s: %w: its generation is %d, and was %d when it was planned", d.Subject, ErrChanged, o.Generation, d.Generation)
}

// final says whether the server will not accept the same request a little later either.
func final(err error) bool {
	return kubeclient.Refused(err) && !apierrors.IsConflict(err) && !apierrors.IsTooManyRequests(err)
}

// accepted says whether what the API server made of the patch is a diversion.
func (d Diversion) accepted(doc []byte) error {
	o, err := parse("in the API server's answer", doc)
	if err != nil {
		return err
	}
	if whole, _, _ := d.stands(o); whole {
		return nil
	}
	i, _ := o.container(d.Container)
	var others []string
	for _, v := range d.Values {
		if live, has := o.value(i, v.Field); !has || !d.isAgent(live, v) {
			others = append(others, v.Field)
		}
	}
	return rejected("divert", d.Subject, fmt.Errorf("admission wrote other values for %s of container %q than the agent's", strings.Join(others, ", "), d.Container))
}

func rejected(op string, s Subject, err error) error {
	e := &RejectedError{Op: op, Subject: s, Err: err, Advice: webhookAdvice(err)}
	switch {
	case e.Advice != "":
	case apierrors.IsUnauthorized(err):
		e.Advice = "Renew the credentials of the kubeconfig's user: the server does not accept them."
	case apierrors.IsForbidden(err):
		e.Advice = kubeclient.ForbiddenAdvice(err, s.Namespace, "What is needed is to get and patch deployments.apps in "+s.Namespace+".")
	default:
		e.Advice = admissionAdvice
	}
	return e
}

// fail wraps an error of the API.
func (w *Writer) fail(op string, s Subject, err error) error {
	var status apierrors.APIStatus
	if apierrors.IsNotFound(err) && errors.As(err, &status) && status.Status().Code == http.StatusNotFound {
		err = fmt.Errorf("%w: %w", ErrGone, err)
	}
	e := fmt.Errorf("%s %s: %w", op, s, err)
	if advice := webhookAdvice(err); advice != "" {
		e = fmt.Errorf("%w\n%s", e, advice)
	}
	if apierrors.IsForbidden(err) {
		e = fmt.Errorf("%w\n%s", e, kubeclient.ForbiddenAdvice(err, s.Namespace, "What is needed is to get and patch deployments.apps in "+s.Namespace+"."))
	}
	return e
}
