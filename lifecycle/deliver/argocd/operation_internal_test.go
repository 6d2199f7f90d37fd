package argocd

import (
	"testing"

	"github.com/pharos-dev/pharos/internal/argo"
)

// What the controller lost is asked for in a way that changes the Application.
func TestNudge(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{"": "normal", "normal": "hard", "hard": "normal"} {
		a := &argo.Application{}
		a.Metadata.Annotations = map[string]string{}
		if asked != "" {
			a.Metadata.Annotations[argo.RefreshAnnotation] = asked
		}
		ops, err := nudge(a)
		if err != nil || len(ops) != 1 || ops[0].Value != want {
			t.Errorf("asked %q: %+v, %v, want %q", asked, ops, err, want)
		}
	}
}

func TestUnheard(t *testing.T) {
	t.Parallel()
	refreshed, operated, runs := &argo.Application{}, &argo.Application{}, &argo.Application{}
	refreshed.Metadata.Annotations = map[string]string{argo.RefreshAnnotation: "hard"}
	operated.Operation = &argo.Operation{}
	runs.Operation = &argo.Operation{}
	runs.Status.OperationState = &argo.OperationState{Phase: "Running"}
	for a, want := range map[*argo.Application]bool{{}: false, refreshed: true, operated: true, runs: false} {
		if unheard(a) != want {
			t.Errorf("%+v: unheard is %t", a, !want)
		}
	}
}
