package devtest

import (
	"context"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv"
)

// Rights are what a restricted user may do; the zero value is nothing beyond what every service account may.
type Rights struct {
	// Namespaced rules hold in the user's own namespace.
	Namespaced []rbacv1.PolicyRule
	// ClusterWide rules hold everywhere.
	ClusterWide []rbacv1.PolicyRule
	// Existing names a ClusterRole that is there already, such as "view", to hold in the user's namespace.
	Existing string
}

// User creates a service account in the namespace with exactly these rights, and returns a client configuration with a
// token of its own: what it does is authenticated and authorized as that account, and is seen so in the audit log as
// "system:serviceaccount:NAMESPACE:NAME", which is the second result. The rights are in force when User returns.
// Rights that reach beyond the namespace are removed at the test's end.
func User(t testing.TB, c *devenv.Cluster, namespace string, rights Rights) (config *rest.Config, name string) {
	t.Helper()
	ctx := t.Context()
	admin := Client(t, c.Config())
	account, err := admin.CoreV1().ServiceAccounts(namespace).Create(ctx,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{GenerateName: "restricted-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create a service account: %v", err)
	}
	meta := metav1.ObjectMeta{Name: account.Name}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account.Name}}
	var probes []authorizationv1.ResourceAttributes

	if len(rights.Namespaced) > 0 {
		if _, err := admin.RbacV1().Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: rights.Namespaced}, metav1.CreateOptions{}); err != nil {
			t.Fatalf("create a role: %v", err)
		}
		bind(t, c, namespace, account.Name, subjects, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: account.Name})
		probes = append(probes, probe(namespace, rights.Namespaced)...)
	}
	if rights.Existing != "" {
		bind(t, c, namespace, account.Name+"-existing", subjects, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: rights.Existing})
		role, err := admin.RbacV1().ClusterRoles().Get(ctx, rights.Existing, metav1.GetOptions{})
		if err != nil {
			t.Fatalf("read a cluster role: %v", err)
		}
		probes = append(probes, probe(namespace, role.Rules)...)
	}
	if len(rights.ClusterWide) > 0 {
		clusterWide(t, c, namespace+"-"+account.Name, subjects, rights.ClusterWide)
		probes = append(probes, probe("", rights.ClusterWide)...)
	}

	hour := int64(time.Hour / time.Second)
	token, err := admin.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account.Name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &hour}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create a token: %v", err)
	}
	config = rest.AnonymousClientConfig(c.Config())
	config.BearerToken = token.Status.Token
	config.QPS = -1
	awaitRights(t, config, probes)
	return config, "system:serviceaccount:" + namespace + ":" + account.Name
}

func bind(t testing.TB, c *devenv.Cluster, namespace, name string, subjects []rbacv1.Subject, role rbacv1.RoleRef) {
	t.Helper()
	_, err := Client(t, c.Config()).RbacV1().RoleBindings(namespace).Create(t.Context(),
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: subjects, RoleRef: role}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create a role binding: %v", err)
	}
}

func clusterWide(t testing.TB, c *devenv.Cluster, name string, subjects []rbacv1.Subject, rules []rbacv1.PolicyRule) {
	t.Helper()
	rbac := Client(t, c.Config()).RbacV1()
	meta := metav1.ObjectMeta{Name: name}
	if _, err := rbac.ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{}); err != nil {
		t.Fatalf("create a cluster role: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
		defer cancel()
		if err := rbac.ClusterRoles().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("delete cluster role %s: %v", name, err)
		}
	})
	_, err := rbac.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create a cluster role binding: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
		defer cancel()
		if err := rbac.ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("delete cluster role binding %s: %v", name, err)
		}
	})
}

// probe is one permission of the rules: since a role becomes effective as a whole, it stands for all of them.
func probe(namespace string, rules []rbacv1.PolicyRule) []authorizationv1.ResourceAttributes {
	for _, r := range rules {
		if len(r.APIGroups) == 0 || len(r.Resources) == 0 || len(r.Verbs) == 0 {
			continue
		}
		a := authorizationv1.ResourceAttributes{Namespace: namespace, Group: r.APIGroups[0], Resource: r.Resources[0], Verb: r.Verbs[0]}
		if len(r.ResourceNames) > 0 {
			a.Name = r.ResourceNames[0]
		}
		return []authorizationv1.ResourceAttributes{a}
	}
	return nil
}

// awaitRights waits until the API server's authorizer, which follows roles with a watch, has seen them.
func awaitRights(t testing.TB, config *rest.Config, probes []authorizationv1.ResourceAttributes) {
	t.Helper()
	reviews := Client(t, config).AuthorizationV1().SelfSubjectAccessReviews()
	for _, a := range probes {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &a}}
		err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			answer, err := reviews.Create(ctx, review, metav1.CreateOptions{})
			return err == nil && answer.Status.Allowed, err
		})
		if err != nil {
			t.Fatalf("wait for the right to %s %s: %v", a.Verb, a.Resource, err)
		}
	}
}

// Impersonating returns a copy of the configuration whose requests are made as the user, with these groups.
func Impersonating(config *rest.Config, user string, groups ...string) *rest.Config {
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return config
}
