package journal_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// What somebody has damaged, or a later version has written, is left as it is.
func TestDamagedObject(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.store(p.cluster.Config(), nil)
	p.created(s)
	for patch, later := range map[string]bool{
		`{"stringData":{"session.json":"{"}}`:               false,
		`{"stringData":{"session.json":"{\"version\":2}"}}`: true,
		`{"data":{"session.json":null}}`:                    false,
	} {
		p.patch(patch)
		was := p.object()
		have, err := s.Load(t.Context())
		if !errors.Is(err, journal.ErrDamaged) || errors.Is(err, journal.ErrLater) != later || have.Version != was.ResourceVersion || have.UID != string(was.UID) {
			t.Errorf("%s: %+v, %v", patch, have, err)
		}
		if _, err := s.Create(t.Context(), document(p.namespace)); !errors.Is(err, journal.ErrExists) || !errors.Is(err, journal.ErrDamaged) {
			t.Errorf("%s: %v", patch, err)
		}
		if _, err := s.Beat(t.Context(), journal.Session{Document: document(p.namespace), UID: string(was.UID), Version: "1"}); !errors.Is(err, journal.ErrDamaged) {
			t.Errorf("%s: %v", patch, err)
		}
		if now := p.object(); now.ResourceVersion != was.ResourceVersion {
			t.Errorf("%s: it was written", patch)
		}
	}
}

// What is set aside is copied, once, and gone; what is not what was read stays.
func TestObjectSetAside(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.store(p.cluster.Config(), nil)
	if _, err := s.SetAside(t.Context(), journal.Session{}); !errors.Is(err, journal.ErrNone) {
		t.Errorf("got %v", err)
	}
	p.created(s)
	p.patch(`{"stringData":{"session.json":"{","more":"of it"}}`)
	have, err := s.Load(t.Context())
	if !errors.Is(err, journal.ErrDamaged) {
		t.Fatal(err)
	}
	for _, other := range []journal.Session{{UID: "another", Version: have.Version}, {UID: have.UID, Version: "1"}} {
		if _, err := s.SetAside(t.Context(), other); !errors.Is(err, journal.ErrConflict) {
			t.Errorf("got %v", err)
		}
	}
	guarded := p.store(p.cluster.Config(), func(c *journal.StoreConfig) { c.Guard = func(context.Context) error { return errors.New("lost") } })
	if _, err := guarded.SetAside(t.Context(), have); err == nil {
		t.Error("the guard was not asked")
	}
	proxy, err := faultproxy.ForCluster(p.cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	proxy.Add(faultproxy.Rule{Method: http.MethodDelete, Times: 1, Do: faultproxy.Answer(http.StatusForbidden)})
	if _, err := p.store(proxy.Config(p.cluster.Config()), nil).SetAside(t.Context(), have); err == nil {
		t.Error("it was not deleted, and that was not said")
	}
	name, err := s.SetAside(t.Context(), have)
	if err != nil {
		t.Fatal(err)
	}
	list, err := devtest.Client(t, p.cluster.Config()).CoreV1().Secrets(p.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "pharos.dev/takeover-of=devbox"})
	if err != nil || len(list.Items) != 1 || list.Items[0].Name != name || string(list.Items[0].Data["session.json"]) != "{" || string(list.Items[0].Data["more"]) != "of it" {
		t.Errorf("there are %+v, %v", list.Items, err)
	}
	p.created(s)
}
