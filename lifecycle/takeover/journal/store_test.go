package journal_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

func TestStore(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.store(p.cluster.Config(), nil)
	if _, err := s.Load(t.Context()); !errors.Is(err, journal.ErrNone) {
		t.Errorf("got %v", err)
	}
	first := p.created(s)
	want := document(p.namespace)
	want.Key = "" // which stays on the workstation
	if !reflect.DeepEqual(first.Document, want) || first.Silent() > 10*time.Second {
		t.Errorf("got %+v", first)
	}
	o := p.object()
	if strings.Contains(string(o.Data["session.json"]), "CANARY") || o.Type != "pharos.dev/takeover" || o.Labels["pharos.dev/takeover-of"] != "devbox" || len(o.Data) != 2 {
		t.Errorf("the Secret is %+v", o)
	}
	have, err := s.Create(t.Context(), document(p.namespace))
	if !errors.Is(err, journal.ErrExists) || have.Document.Session != "S1" || have.Version != first.Version {
		t.Errorf("got %+v, %v", have, err)
	}
	next := first
	next.Document.Step = journal.Serving
	second, err := s.Save(t.Context(), next)
	if err != nil || second.Document.Step != journal.Serving || second.Version == first.Version || second.Heartbeat.Before(first.Heartbeat) {
		t.Errorf("got %+v, %v", second, err)
	}
	if _, err := s.Save(t.Context(), next); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if err := s.Delete(t.Context(), first); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("got %v", err)
	}
	for range 2 { // the second time it is gone
		if err := s.Delete(t.Context(), second); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Save(t.Context(), second); !errors.Is(err, journal.ErrNone) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Beat(t.Context(), second); !errors.Is(err, journal.ErrNone) {
		t.Errorf("got %v", err)
	}
	// Another one of its name is not the one that was read.
	third := p.created(s)
	second.Version = third.Version
	if _, err := s.Save(t.Context(), second); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if err := s.Delete(t.Context(), second); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("got %v", err)
	}
}

func TestStoreRefuses(t *testing.T) {
	t.Parallel()
	if _, err := journal.NewStore(journal.StoreConfig{Target: "A"}); !errors.Is(err, journal.ErrInvalid) || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("got %v", err)
	}
	p := newPlace(t)
	s := p.store(p.cluster.Config(), nil)
	for _, change := range []func(*journal.Document){
		func(d *journal.Document) { d.Target = "prod" },
		func(d *journal.Document) { d.Namespace = "shop" },
		func(d *journal.Document) { d.Step = "" },
		func(d *journal.Document) {
			d.Workloads[0].Diversion.Original = []byte(`{"x":"` + strings.Repeat("x", 1<<20) + `"}`)
		},
	} {
		d := document(p.namespace)
		change(&d)
		if _, err := s.Create(t.Context(), d); !errors.Is(err, journal.ErrInvalid) {
			t.Errorf("got %v", err)
		}
	}
	d := document("pharos-no-such-namespace")
	none := p.store(p.cluster.Config(), func(c *journal.StoreConfig) { c.Namespace = d.Namespace })
	if _, err := none.Create(t.Context(), d); err == nil || !strings.Contains(err.Error(), "kubectl create namespace pharos-no-such-namespace") {
		t.Errorf("got %v", err)
	}
}
