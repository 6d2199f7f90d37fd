package argocd_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
)

// A look that is to be believed sees what was edited right before, with leave for
// each write that it takes.
func TestLookAnew(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	s.root(manual)
	d := s.deliver(s.commit(s.single("")))
	image := []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"api","image":"other"}]}}}}`)
	if _, err := devtest.Client(t, s.config).AppsV1().Deployments(s.name).Patch(t.Context(), "api", types.StrategicMergePatchType, image, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	r, asked := d.observe(), 0
	r.Anew = func(context.Context) error { asked++; return nil }
	o, err := s.deliverer().Observe(t.Context(), r)
	if err != nil || asked == 0 {
		t.Fatalf("asked %d times: %v", asked, err)
	}
	var drift []string
	for _, x := range o.Drifted {
		drift = append(drift, lifecycle.ObjectName(x.Object))
	}
	mustContain(t, strings.Join(drift, "\n"), "Deployment "+s.name+"/api")
	lost := errors.New("lost")
	r.Anew = func(context.Context) error { return lost }
	if _, err := s.deliverer().Observe(t.Context(), r); err != lost {
		t.Errorf("without leave: %v", err)
	}
	if _, err := s.deliverer().Wait(t.Context(), r); err != lost {
		t.Errorf("waited for without leave: %v", err)
	}
}
