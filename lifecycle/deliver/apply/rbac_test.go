package apply_test

import (
	"context"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

var created metav1.CreateOptions

func role() *rbacv1.Role {
	return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "deliver"}, Rules: documented}
}

// binding gives the role to a service account of another namespace.
func binding(user string) *rbacv1.RoleBinding {
	part := strings.Split(user, ":")
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "deliver"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: part[2], Name: part[3]}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "deliver"},
	}
}

// awaitRight waits until the authorizer has seen the binding.
func awaitRight(t *testing.T, config *rest.Config, namespace string) {
	t.Helper()
	reviews := devtest.Client(t, config).AuthorizationV1().SelfSubjectAccessReviews()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Resource: "configmaps", Verb: "list"}}}
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		r, err := reviews.Create(ctx, review, created)
		return err == nil && r.Status.Allowed, err
	})
	if err != nil {
		t.Fatal(err)
	}
}
