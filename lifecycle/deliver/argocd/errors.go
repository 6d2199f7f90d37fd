package argocd

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/lifecycle"
)

// explain turns an error of the API server into one that says what to do.
func explain(op, on string, err error) error {
	if err == nil {
		return nil
	}
	e := &lifecycle.Error{Op: op, On: on, Err: err}
	switch {
	case apierrors.IsNotFound(err) && strings.Contains(err.Error(), "could not find the requested resource"):
		e.Class, e.Advice = lifecycle.ErrUnreachable, "The cluster does not know Argo CD's kinds. Install Argo CD there, or choose its cluster with spec.context."
	case apierrors.IsForbidden(err):
		e.Class, e.Advice = lifecycle.ErrUnreachable, "Ask an administrator for this right: docs/deliver-argocd.md lists all that are needed."
	case apierrors.IsUnauthorized(err):
		e.Class, e.Advice = lifecycle.ErrUnreachable, "Renew the credentials of the kubeconfig's user."
	case kubeclient.Unavailable(err):
		e.Class, e.Advice = lifecycle.ErrUnreachable, "Check that the cluster is up, and run it again: what is done already stays done."
	}
	return e
}

// owned is the refusal to write what somebody else would put back.
func owned(a *argo.Application, o argo.Owner) error {
	next := fmt.Sprintf("Point %s at the commits instead, or have it leave this Application alone.", o)
	switch o.Kind {
	case argo.KindSet:
		next = "Take the Application out of the ApplicationSet, or deliver by another Application: an ApplicationSet writes the whole spec."
	case argo.KindApplication:
		next = fmt.Sprintf("Deliver by the Application above it: deliver: {argocd: {root: %s}}", o.Name)
	}
	return &lifecycle.BlockedError{Reason: fmt.Sprintf("%s would be reverted by %s, which it belongs to (%s)", a, o, o.How), Next: next}
}

// advice is what to do about a fault of an Application.
func advice(name string, v argo.Verdict) string {
	switch v.Fault {
	case argo.FaultRepository:
		return "Check that Argo CD reaches the Git server at spec.git.url and may fetch from it: argocd repo list. The commit is kept there by a ref of the receipt."
	case argo.FaultManifests:
		return "What Argo CD's kustomize says may differ from kubectl pharos render: compare their versions, and the overlay."
	case argo.FaultCluster:
		return "Check Argo CD's own application controller and its access to the destination."
	case argo.FaultSpec:
		return "Check that the AppProject allows the repository, the destination and the kinds: kubectl pharos deploy sets them up."
	}
	return "Look at " + name + " in Argo CD."
}

// class is the class of a fault that ends a delivery.
func class(f argo.Fault) error {
	switch f {
	case argo.FaultManifests:
		return lifecycle.ErrSource
	case argo.FaultRepository, argo.FaultCluster:
		return lifecycle.ErrUnreachable
	}
	return lifecycle.ErrBlocked
}
