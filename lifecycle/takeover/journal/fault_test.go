package journal_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// The guard keeps every write but a sign of life from being made.
func TestStoreGuard(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	lost := errors.New("the lease is lost")
	guarded := p.store(p.cluster.Config(), func(c *journal.StoreConfig) { c.Guard = func(context.Context) error { return lost } })
	if _, err := guarded.Create(t.Context(), document(p.namespace)); !errors.Is(err, lost) {
		t.Errorf("got %v", err)
	}
	session := p.created(p.store(p.cluster.Config(), nil))
	if _, err := guarded.Save(t.Context(), session); !errors.Is(err, lost) {
		t.Errorf("got %v", err)
	}
	if err := guarded.Delete(t.Context(), session); !errors.Is(err, lost) {
		t.Errorf("got %v", err)
	}
	if now := p.object(); now.ResourceVersion != session.Version {
		t.Error("it was written")
	}
}

// Whatever becomes of the answer, each write is made once and is recognised.
func TestStoreFaults(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]faultproxy.Action{
		"409": faultproxy.Answer(http.StatusConflict), "429": faultproxy.TooManyRequests(0), "500": faultproxy.Answer(http.StatusInternalServerError),
		"no answer": faultproxy.Stall(), "a cut": faultproxy.Cut(),
	} {
		for _, after := range []bool{false, true} {
			for _, method := range []string{http.MethodPost, http.MethodPatch, http.MethodDelete} {
				t.Run(fmt.Sprintf("%s, after: %t, %s", name, after, method), func(t *testing.T) {
					t.Parallel()
					if name == "409" && method != http.MethodPatch {
						t.Log("a create or a delete that conflicts says what is so")
						return
					}
					p := newPlace(t)
					proxy, err := faultproxy.ForCluster(p.cluster.Config())
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(proxy.Close)
					fault := proxy.Add(faultproxy.Rule{Method: method, Path: regexp.MustCompile("/secrets"), Times: 1, AfterUpstream: after, Do: do})
					config := proxy.Config(p.cluster.Config())
					config.Timeout = 2 * time.Second
					s := p.store(config, nil)
					session := p.created(s)
					session.Document.Step = journal.Serving
					if session, err = s.Save(t.Context(), session); err != nil || session.Document.Step != journal.Serving {
						t.Fatalf("got %+v, %v", session, err)
					}
					if session, err = s.Beat(t.Context(), session); err != nil {
						t.Fatal(err)
					}
					if session.Version != p.object().ResourceVersion {
						t.Error("what it says is not what is there")
					}
					if err := s.Delete(t.Context(), session); err != nil {
						t.Error(err)
					}
					if _, err := s.Load(t.Context()); !errors.Is(err, journal.ErrNone) {
						t.Errorf("got %v", err)
					}
					if fault.Hits() != 1 {
						t.Errorf("%d hits", fault.Hits())
					}
				})
			}
		}
	}
}
