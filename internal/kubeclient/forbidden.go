package kubeclient

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// RightsPage is where the rights that a delivery needs are written down for
// whoever grants them.
const RightsPage = "https://github.com/pharos-dev/pharos/blob/main/docs/reconcile.md#rights"

// ForbiddenAdvice says what to do about a write in a namespace that the server
// forbids: to get the rights that are named, unless they are not what is
// missing.
func ForbiddenAdvice(err error, namespace, rights string) string {
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return fmt.Sprintf("Namespace %s is being deleted: wait until it is gone.", namespace)
	case strings.Contains(err.Error(), "exceeded quota: "): // the quota admission has no cause for it
		return fmt.Sprintf("Raise the namespace's quota, or make room in it: kubectl get resourcequota --namespace %s", namespace)
	case strings.Contains(err.Error(), "failed quota: "):
		return fmt.Sprintf("Say in the object what the namespace's quota limits: kubectl get resourcequota --namespace %s", namespace)
	case strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"), strings.Contains(err.Error(), "denied the request"):
		return "Mend the object as the cluster's admission says: no right is missing."
	}
	return rights
}
