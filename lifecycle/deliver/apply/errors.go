package apply

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// explain turns an error of a request that concerns no single object into one
// that says what to do about it.
func (c *client) explain(ctx context.Context, op, on string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s %s: %w", op, on, err)
	}
	e := &lifecycle.Error{Op: op, On: on, Class: lifecycle.ErrUnreachable, Err: err}
	s, ok := answered(err)
	switch {
	case !ok:
		e.Advice = fmt.Sprintf("Check that the cluster at %s is up, and that the kubeconfig's context is the right one.", c.base.Host)
		var certificate *tls.CertificateVerificationError
		if errors.As(err, &certificate) {
			e.Advice = "Check certificate-authority in the kubeconfig: the server's certificate is not trusted."
		}
	case s.Code == http.StatusUnauthorized:
		e.Advice = "Renew the credentials in the kubeconfig: the server does not accept them."
	case s.Code == http.StatusForbidden:
		e.Advice = "Ask an administrator for this right."
	case webhookFails(s):
		e.Advice = webhookAdvice
	case s.Code == http.StatusTooManyRequests || s.Code >= http.StatusInternalServerError:
		e.Advice = "The server did not recover in time. Run it again: what is done already stays done."
	default:
		e.Class = nil
	}
	return e
}

// explainApply turns the error of one object's apply into one that says what
// to do about it. stop says that it is no finding about the object, but the
// end of the delivery.
func (d *Deliverer) explainApply(ctx context.Context, o receipt.Object, err error) (_ error, stop bool) {
	var guard *guardError
	if errors.As(err, &guard) {
		return guard.err, true
	}
	var whole *lifecycle.ConflictError
	if errors.As(err, &whole) {
		return whole, false
	}
	on := lifecycle.ObjectName(o)
	if errors.Is(err, errDeleting) {
		return &lifecycle.Error{
			Op: "apply", On: on, Class: lifecycle.ErrUnreachable, Err: err,
			Advice: "Wait until it is gone, then deliver again.",
		}, false
	}
	s, ok := answered(err)
	if ok && o.Group == "" && o.Kind == "Secret" {
		err = &withheld{code: s.Code, err: err}
	}
	if ctx.Err() != nil || !ok || s.Code == http.StatusUnauthorized {
		return d.client.explain(ctx, "apply", on, err), true
	}
	if c := conflicts(on, s); len(c) > 0 {
		return &lifecycle.ConflictError{Conflicts: c}, false
	}
	e := &lifecycle.Error{Op: "apply", On: on, Class: lifecycle.ErrSource, Err: err}
	switch {
	case schemaMismatch(s):
		e.Advice = "Correct the manifest: it has a field that this kind does not have, or of the wrong type."
	case immutable(s):
		e.Err = unchangeable(s, err)
		e.Advice = immutableAdvice(o)
	case terminating(s):
		e.Class = lifecycle.ErrUnreachable
		e.Advice = fmt.Sprintf("Namespace %s is being deleted. Wait until it is gone, then deliver again.", o.Namespace)
	case noSuchNamespace(s):
		e.Advice = fmt.Sprintf("Add the Namespace %s to the manifests, or create it.", o.Namespace)
	case s.Code == http.StatusNotFound:
		e.Advice = "The cluster does not serve this kind any more, or not yet. Check its CustomResourceDefinition."
	case webhookFails(s):
		return &lifecycle.Error{Op: "apply", On: on, Class: lifecycle.ErrUnreachable, Err: err, Advice: webhookAdvice}, true
	case s.Code == http.StatusForbidden && missingRight(s):
		e.Class = lifecycle.ErrUnreachable
		e.Advice = fmt.Sprintf("Ask an administrator for the rights to create and patch %s.", collectionOf(o).name())
	case s.Code == http.StatusForbidden:
		e.Advice = "An admission rule of the cluster refuses it: a quota, a security standard or a policy."
	case s.Code == http.StatusTooManyRequests || s.Code >= http.StatusInternalServerError || s.Code == http.StatusConflict:
		return d.client.explain(ctx, "apply", on, err), true
	}
	return e, false
}

// withheld is the server's refusal of a Secret without its text, which quotes
// values of what it refuses.
type withheld struct {
	code int32
	err  error
}

func (e *withheld) Error() string {
	return fmt.Sprintf("the server refuses it with %d %s; its message is withheld, since it may quote a value of the Secret", e.code, http.StatusText(int(e.code)))
}

// Unwrap returns the server's answer: for its code, not for its text.
func (e *withheld) Unwrap() error { return e.err }

// conflicts reads the fields of somebody else from the server's refusal.
func conflicts(object string, s metav1.Status) []lifecycle.Conflict {
	if s.Details == nil {
		return nil
	}
	var list []lifecycle.Conflict
	for _, c := range s.Details.Causes {
		if c.Type == metav1.CauseTypeFieldManagerConflict {
			list = append(list, lifecycle.Conflict{Object: object, Field: c.Field, Owner: owner(c.Message)})
		}
	}
	return list
}

// owner takes the manager's name out of the server's message:
//
//	conflict with "kubectl-edit" using apps/v1
//	conflict with "scaler" with subresource "scale" using apps/v1
func owner(message string) string {
	_, rest, ok := strings.Cut(message, "conflict with ")
	if !ok {
		return message
	}
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return rest
	}
	name, err := strconv.Unquote(quoted)
	if err != nil {
		return rest
	}
	return name
}

// missingRight tells the authorizer's refusal from that of an admission rule, by
// its words: User "ada" cannot patch resource "configmaps" in …
func missingRight(s metav1.Status) bool {
	return strings.Contains(s.Message, `" cannot `) && strings.Contains(s.Message, ` resource "`)
}

const webhookAdvice = "See that what stands behind this webhook runs: without it the server accepts nothing of this kind. Run it again then: what is done already stays done."

// webhookFails says that the server could not do what was asked because it
// could not ask somebody else: a webhook of admission, or one that converts
// custom resources.
func webhookFails(s metav1.Status) bool {
	return s.Code >= http.StatusInternalServerError &&
		(strings.Contains(s.Message, "failed calling webhook") || strings.Contains(s.Message, "conversion webhook for "))
}

func terminating(s metav1.Status) bool {
	if s.Details != nil {
		for _, c := range s.Details.Causes {
			if c.Type == "NamespaceTerminating" {
				return true
			}
		}
	}
	return false
}

func noSuchNamespace(s metav1.Status) bool {
	return s.Code == http.StatusNotFound && s.Details != nil && s.Details.Kind == "namespaces"
}
