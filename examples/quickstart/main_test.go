package main

import (
	"context"
	"os"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// TestInterrupted interrupts the story in the middle of a delivery to an
// existing cluster, and looks for what is left.
func TestInterrupted(t *testing.T) {
	c := devtest.Cluster(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("KUBECONFIG", c.Kubeconfig())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &interrupter{at: "created Deployment", cancel: cancel}
	var errs strings.Builder
	code := run(ctx, []string{"--context", c.ContextName(), "--registry", devtest.Registry(t) + "/shop", "--registry-insecure"}, out, &errs)
	if code != exitInterrupted {
		t.Fatalf("ended with code %d\n%s\n%s", code, out.String(), errs.String())
	}
	left, err := os.ReadDir(temp)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		t.Errorf("%s is left", e.Name())
	}
	_, name, _ := strings.Cut(out.String(), "configured Namespace ")
	name, _, _ = strings.Cut(name, "\n")
	roles, err := devtest.Client(t, c.Config()).RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range roles.Items {
		if strings.HasPrefix(r.Name, "pharos:") {
			t.Errorf("cluster role %s is left", r.Name)
		}
	}
	namespaces := devtest.Client(t, c.Config()).CoreV1().Namespaces()
	for _, name := range []string{name, "pharos" + strings.TrimPrefix(name, "shop")} {
		ns, err := namespaces.Get(t.Context(), name, metav1.GetOptions{})
		if err == nil && ns.DeletionTimestamp == nil || err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("namespace %q is left: %v", name, err)
		}
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args, message string
		code          int
	}{
		{"--context kind-dev", "--context needs --registry", 2},
		{"--registry localhost:5000", "go with --context", 2},
		{"--registry-insecure", "go with --context", 2},
		{"--context kind-dev --registry localhost:5000 --argocd", "leave out --context", 2},
		{"--context kind-dev --registry localhost:5000 --takeover", "leave out --context", 2},
		{"--takeover --argocd", "leave out --context and --argocd", 2},
		{"shop", "there are no arguments", 2},
		{"--contxt x", "flag provided but not defined", 2},
		{"--help", "-registry", 0},
		{"--context no-such-context --registry localhost:1/shop", `no context of this name`, 1},
	} {
		t.Run(test.args, func(t *testing.T) {
			t.Parallel()
			var out, errs strings.Builder
			code := run(t.Context(), strings.Fields(test.args), &out, &errs)
			if code != test.code || !strings.Contains(errs.String(), test.message) {
				t.Errorf("code %d and %q, want %d and %q", code, errs.String(), test.code, test.message)
			}
		})
	}
}
