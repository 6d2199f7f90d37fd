package controller_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/controller"
)

// Where it may put back what was taken over is what the API server says.
func TestMayPutBack(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	shop, bar, attic := devtest.Namespace(t, c), devtest.Namespace(t, c), devtest.Namespace(t, c)
	rights := func(verbs ...string) devtest.Rights {
		return devtest.Rights{Namespaced: []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: verbs}}}
	}
	config, _ := devtest.User(t, c, shop, rights("get", "patch"))
	asked := []string{shop, bar, attic, shop}
	may, err := controller.MayPutBack(config, asked)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := may(t.Context()); err != nil || !slices.Equal(got, []string{shop}) {
		t.Errorf("it may in %q, %v, want %q", got, err, shop)
	}
	reader, _ := devtest.User(t, c, bar, rights("get"))
	if may, err = controller.MayPutBack(reader, asked); err != nil {
		t.Fatal(err)
	}
	if got, err := may(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("it may in %q, %v, want nowhere", got, err)
	}
}

// The leader's lease says what it covers, and says anew what has changed.
func TestLeaderCovers(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	var mu sync.Mutex
	covers := []string{"shop"}
	r := runConfig(t, c.Config(), ns, controller.Config{Identity: "alone", Look: 50 * time.Millisecond, Covers: func(context.Context) ([]string, error) {
		mu.Lock()
		defer mu.Unlock()
		return covers, nil
	}})
	r.await("/metrics", leads)
	says := func() string {
		t.Helper()
		m, err := lease.New(lease.Config{REST: c.Config(), Namespace: ns, Target: "shop", Name: "pharos-shop.controller"})
		if err != nil {
			t.Fatal(err)
		}
		state, err := m.Inspect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(state.Covers, " ")
	}
	if got := says(); got != "shop" {
		t.Errorf("the lease covers %q", got)
	}
	mu.Lock()
	covers = []string{"bar", "shop"}
	mu.Unlock()
	r.await("/metrics", "pharos_controller_elections_total 2")
	r.await("/metrics", leads)
	if got := says(); got != "bar shop" {
		t.Errorf("the lease covers %q", got)
	}
}
