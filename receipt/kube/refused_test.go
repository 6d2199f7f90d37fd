package kube_test

import (
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/receipt"
	"github.com/pharos-dev/pharos/receipt/kube"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	good := kube.Config{REST: &rest.Config{Host: "https://localhost"}, Namespace: "pharos", Target: "devbox"}
	for name, change := range map[string]func(*kube.Config){
		"no REST":     func(c *kube.Config) { c.REST = nil },
		"namespace":   func(c *kube.Config) { c.Namespace = "" },
		"target":      func(c *kube.Config) { c.Target = "" },
		"dotted name": func(c *kube.Config) { c.Target = "a.b" },
		"upper case":  func(c *kube.Config) { c.Target = "Devbox" },
		"bad host":    func(c *kube.Config) { c.REST = &rest.Config{Host: "http://[::1"} },
	} {
		c := good
		change(&c)
		if s, err := kube.New(c); err == nil || s != nil {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	if _, err := kube.New(good); err != nil {
		t.Error(err)
	}
}

// A store whose namespace does not exist is empty, and says so when something
// is written.
func TestNoNamespace(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := open(t, c.Config(), fmt.Sprintf("pharos-none-%d", rand.Int()), "devbox")
	ctx := t.Context()
	id, err := record("devbox", 1).ID()
	if err != nil {
		t.Fatal(err)
	}
	if l, err := s.List(ctx); err != nil || len(l) != 0 {
		t.Errorf("List: %v, %v", l, err)
	}
	if p, err := s.Pointers(ctx); err != nil || p != (receipt.Pointers{}) {
		t.Errorf("Pointers: %v, %v", p, err)
	}
	if _, err := s.Get(ctx, id); !errors.Is(err, receipt.ErrNotFound) {
		t.Errorf("Get: %v, want ErrNotFound", err)
	}
	_, err = s.Put(ctx, record("devbox", 1))
	var e *kube.Error
	if !errors.Is(err, kube.ErrNoNamespace) || !errors.As(err, &e) || !strings.Contains(e.Advice, "kubectl create namespace pharos-none") {
		t.Errorf("Put: %v, want ErrNoNamespace and what to do", err)
	}
	if errors.Is(err, receipt.ErrNotFound) {
		t.Errorf("Put: %v is an ErrNotFound", err)
	}
	if _, err := s.SetPointers(ctx, receipt.Pointers{}, receipt.Pointers{Applied: id}); !errors.Is(err, kube.ErrNoNamespace) {
		t.Errorf("SetPointers: %v, want ErrNoNamespace", err)
	}
}

func TestNoRights(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	config, user := devtest.User(t, c, ns, devtest.Rights{})
	s := open(t, config, ns, "devbox")
	_, err := s.Put(t.Context(), record("devbox", 1))
	var e *kube.Error
	if !apierrors.IsForbidden(err) || !errors.As(err, &e) || e.Advice == "" || !strings.Contains(err.Error(), user) {
		t.Errorf("Put: %v, want who is forbidden what, and what to do", err)
	}
	if _, err := s.Pointers(t.Context()); !apierrors.IsForbidden(err) {
		t.Errorf("Pointers: %v, want forbidden", err)
	}
}

// A record too large for a ConfigMap even when it is compressed is refused as
// such, and nothing is written.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := open(t, c.Config(), devtest.Namespace(t, c), "devbox")
	r := record("devbox", 1)
	noise := make([]byte, 2<<20)
	random := rand.New(rand.NewSource(1))
	for i := range noise {
		noise[i] = 'a' + byte(random.Intn(26))
	}
	r.Images = []receipt.Image{{
		Name: "web", Fingerprint: r.Catalogue, Repository: "r/web", Digest: r.Catalogue, Platforms: []string{"linux/amd64"},
		Preimage: []receipt.Field{{Key: "noise", Value: string(noise)}},
	}}
	if id, err := s.Put(t.Context(), r); !errors.Is(err, receipt.ErrTooLarge) || id != "" {
		t.Errorf("Put: %v, %v, want ErrTooLarge", id, err)
	}
	if l, err := s.List(t.Context()); err != nil || len(l) != 0 {
		t.Errorf("List: %v, %v", l, err)
	}
}
