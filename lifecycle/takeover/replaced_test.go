package takeover_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
)

// setImage sets the image of the api's container, as kubectl set image does, and returns
// the one before.
func (s *served) setImage(image string) (before string) {
	s.t.Helper()
	deployments := s.Client().AppsV1().Deployments(s.Namespace)
	d, err := deployments.Get(s.t.Context(), "api", metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	c := d.Spec.Template.Spec.Containers[0]
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":%q,"image":%q}]}}}}`, c.Name, image)
	if _, err := deployments.Patch(s.t.Context(), "api", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "kubectl-set"}); err != nil {
		s.t.Fatal(err)
	}
	return c.Image
}

// api is how the api is.
func (s *served) api() takeover.WorkloadStatus {
	s.t.Helper()
	st := s.Session.Status()
	if len(st.Workloads) != 1 {
		s.t.Fatalf("the status is %+v", st)
	}
	return st.Workloads[0]
}

// Somebody else who sets a workload's image, to the one before or to another, is told of
// once, by name, with what helps; from then on it is not said to be served, until the
// agent is there again.
func TestAgentReplaced(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	original := originalImage(t, s.before["api"])
	var agent string
	for n, of := range []struct{ image, did string }{{original, "has put its image back"}, {"registry.example/other:1", "has set its image to registry.example/other:1"}} {
		warned := s.count(takeover.EventWarning)
		agent = s.setImage(of.image)
		s.until(takeover.EventWarning, warned+1)
		want := `"kubectl-set" ` + of.did
		var said []string
		for _, e := range s.all() {
			if e.Type == takeover.EventWarning && strings.HasPrefix(e.Reason, want) {
				said = append(said, e.Reason)
			}
		}
		if len(said) != 1 || !strings.Contains(said[0], "kubectl pharos handback") {
			t.Errorf("it is told %q", said)
		}
		if w := s.api(); w.State != takeover.StateReplaced || w.Serving || !strings.HasPrefix(w.Reason, want) {
			t.Errorf("the status is %+v", w)
		}
		s.setImage(agent)
		s.until(takeover.EventServing, n+2)
		if w := s.api(); w.State != takeover.StateServing || !w.Serving || w.Reason != "" {
			t.Errorf("with the agent again it is %+v", w)
		}
	}
	if err := s.HandBack(t.Context()); err != nil {
		t.Error(err)
	}
	s.Whole(s.before)
}

func originalImage(t *testing.T, spec string) string {
	t.Helper()
	_, rest, ok := strings.Cut(spec, `"image":"`)
	image, _, _ := strings.Cut(rest, `"`)
	if !ok {
		t.Fatalf("there is no image in %s", spec)
	}
	return image
}

// A workload of which no process runs on this machine is not said to be served, and why is
// said instead.
func TestNotServed(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	for _, of := range []struct {
		process runtime.State
		state   takeover.State
		reason  string
	}{
		{runtime.State{Phase: runtime.Crashed, Reason: "exit status 1"}, takeover.StateNotServed, "exit status 1"},
		{runtime.State{Phase: runtime.Parked, Reason: "5 restarts did not help"}, takeover.StateNotServed, "5 restarts did not help"},
		{runtime.State{Phase: runtime.Failed}, takeover.StateNotServed, "could not be built"},
		{runtime.State{Phase: runtime.Building}, takeover.StateNotServed, "is built"},
		{runtime.State{Phase: runtime.Stopped}, takeover.StateNotServed, "not run any more"},
		{runtime.State{Phase: runtime.Starting, PID: 1, Reason: "it does not listen on port 8080"}, takeover.StateNotServed, "port 8080"},
		{runtime.State{Phase: runtime.Starting, PID: 1}, takeover.StateServing, ""},
		{runtime.State{Phase: runtime.Swapping}, takeover.StateServing, ""},
		{runtime.State{Phase: runtime.Serving, PID: 1}, takeover.StateServing, ""},
	} {
		s.local.Becomes("api", of.process)
		w := s.api()
		if w.State != of.state || w.Serving != (of.state == takeover.StateServing) || !strings.Contains(w.Reason, of.reason) || (w.Reason == "") != (of.reason == "") {
			t.Errorf("%+v: it is %s, serving %t: %q", of.process, w.State, w.Serving, w.Reason)
		}
	}
	if err := s.HandBack(t.Context()); err != nil {
		t.Error(err)
	}
	s.Whole(s.before)
}
