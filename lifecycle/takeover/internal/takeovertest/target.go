package takeovertest

import (
	"encoding/json"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// Client is one for the API server.
func (s *Shop) Client() kubernetes.Interface { return devtest.Client(s.t, s.REST) }

// Spec is the Deployment's spec as it is on the target.
func (s *Shop) Spec(name string) string {
	s.t.Helper()
	d, err := s.Client().AppsV1().Deployments(s.Namespace).Get(s.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	doc, err := json.Marshal(d.Spec)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(doc)
}

// Whole wants the target to be as it was before, and nothing of a takeover to be left.
func (s *Shop) Whole(specs map[string]string) {
	s.t.Helper()
	session, err := takeover.New(s.Config())
	if err != nil {
		s.t.Fatal(err)
	}
	if doc, err := session.Pending(); !errors.Is(err, journal.ErrNone) {
		s.t.Errorf("the journal has %v, %v", doc, err)
	}
	for name, want := range specs {
		if got := s.Spec(name); got != want {
			s.t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
		}
	}
	st, err := s.Lifecycle().Status(s.t.Context())
	if err != nil || !st.IsLive() || st.Lease.Held {
		s.t.Errorf("the target is not live and free: %+v, %v, %+v", st.Observation, err, st.Lease)
	}
	if len(st.Gate) > 0 || st.GateErr != nil {
		s.t.Errorf("of the lease's gate there is left: %+v, %v", st.Gate, st.GateErr)
	}
	if _, err := s.Client().CoreV1().Secrets(s.Namespace).Get(s.t.Context(), journal.ObjectName(s.Namespace), metav1.GetOptions{}); err == nil {
		s.t.Error("the session object is left")
	}
}

// Specs are those of both Deployments.
func (s *Shop) Specs() map[string]string {
	s.t.Helper()
	return map[string]string{"api": s.Spec("api"), "mail": s.Spec("mail")}
}
