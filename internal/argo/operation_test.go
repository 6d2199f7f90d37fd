package argo_test

import (
	"encoding/json"
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
		if ops := argo.NudgeOps(a); len(ops) != 1 || ops[0].Value != want {
			t.Errorf("asked %q: %+v, want %q", asked, ops, want)
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
		if argo.Unheard(a) != want {
			t.Errorf("%+v: unheard is %t", a, !want)
		}
	}
}

// Only what is said to run without an operation is abandoned.
func TestAbandoned(t *testing.T) {
	t.Parallel()
	for phase, want := range map[string]bool{"Running": true, "Terminating": true, "Succeeded": false, "Failed": false, "Error": false, "": false} {
		a := &argo.Application{}
		a.Status.OperationState = &argo.OperationState{Phase: phase}
		if ops := argo.AbandonedOps(a); argo.Abandoned(a) != want || (len(ops) == 1) != want {
			t.Errorf("%q without an operation: %+v", phase, ops)
		}
		a.Operation = &argo.Operation{}
		if argo.Abandoned(a) || argo.AbandonedOps(a) != nil {
			t.Errorf("%q with an operation is abandoned", phase)
		}
	}
	if argo.Abandoned(&argo.Application{}) {
		t.Error("nothing is abandoned")
	}
}

func TestSyncOps(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		app       string
		revisions []string
		want      string
	}{
		"plain":   {`{}`, nil, `{"initiatedBy":{"username":"pharos"},"sync":{"prune":false,"syncStrategy":{"hook":{}}}}`},
		"pinned":  {`{}`, []string{"abc"}, `{"initiatedBy":{"username":"pharos"},"sync":{"prune":false,"revision":"abc","syncStrategy":{"hook":{}}}}`},
		"several": {`{"spec":{"sources":[{"path":"a"},{"path":"b"}]}}`, []string{"a", "b"}, `{"initiatedBy":{"username":"pharos"},"sync":{"prune":false,"revisions":["a","b"],"syncStrategy":{"hook":{}}}}`},
		"policy": {`{"spec":{"syncPolicy":{"automated":{"prune":true},"syncOptions":["ServerSideApply=true"],"retry":{"limit":2}}}}`, nil,
			`{"initiatedBy":{"username":"pharos"},"retry":{"limit":2},"sync":{"prune":false,"syncOptions":["ServerSideApply=true"],"syncStrategy":{"hook":{}}}}`},
		"set":     {`{"operation":{}}`, nil, ""},
		"running": {`{"status":{"operationState":{"phase":"Running"}}}`, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := argo.ParseApplication([]byte(tt.app))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if ops := argo.SyncOps(a, tt.revisions); len(ops) == 1 {
				data, err := json.Marshal(ops[0].Value)
				if err != nil {
					t.Fatal(err)
				}
				got = string(data)
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
