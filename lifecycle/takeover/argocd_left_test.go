package takeover_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/takeovertest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// A hand-back that was killed before it opened Argo CD's window, and whose lease has ended
// since, opens the window all the same, and waits until Argo CD has put back what the window
// kept from it: also a window that is to last much longer than the lease did.
func TestArgoCDHandBackOpensWhatIsLeft(t *testing.T) {
	a := devtest.ArgoCD(t)
	for name, tt := range map[string]struct {
		lease lease.Timing
		end   func(*testing.T, *takeovertest.Shop)
	}{
		"of a lease that ran out":        {lease.Timing{Duration: 50 * time.Second, RenewEvery: 3 * time.Second}, func(*testing.T, *takeovertest.Shop) {}},
		"of a lease that was taken away": {lease.Timing{}, breakWithoutGate},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := takeovertest.NewArgoShop(t, a)
			before := s.Specs()
			s.Write(editAPI)
			dieIn(t, s, killed{At: takeover.EventStep, Step: journal.Released, Lease: tt.lease})
			patch := []byte(`{"spec":{"replicas":3}}`)
			if _, err := s.Client().AppsV1().Deployments(s.Namespace).Patch(t.Context(), "api", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			compare(t, s, a.Namespace(), s.Application("api"))
			tt.end(t, s)
			free(t, s)
			if st, err := s.Lifecycle().Status(t.Context()); err != nil || len(st.Gate) != 1 || !st.Gate[0].LeftOver || st.Gate[0].Opened {
				t.Fatalf("before the hand-back there stands %+v, %v", st.Gate, err)
			}
			if err := sessionOf(t, s.Config()).Finish(t.Context()); err != nil {
				t.Errorf("handed back: %v", err)
			}
			s.Whole(before)
		})
	}
}

// breakWithoutGate has somebody break the lease of a target who dies before the window of it
// is opened.
func breakWithoutGate(t *testing.T, s *takeovertest.Shop) {
	t.Helper()
	m, err := lease.New(lease.Config{REST: s.REST, Namespace: s.Namespace, Target: s.Namespace})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Break(t.Context(), lease.BreakRequest{User: "bob@desk", Reason: "a release"}); err != nil {
		t.Fatal(err)
	}
}
