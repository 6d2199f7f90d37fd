package journal_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// A sign of life is the API server's time, survives what others write, and is refused
// when somebody else ends the session.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.store(p.cluster.Config(), nil)
	session := p.created(s)
	p.patch(`{"stringData":{"heartbeat":"2026-01-01T00:00:00Z"}}`)
	long, err := s.Load(t.Context())
	if err != nil || long.Silent() < 24*time.Hour && long.Silent() >= 0 && long.Now.After(long.Heartbeat.Add(24*time.Hour)) {
		t.Errorf("silent for %s, %v", long.Silent(), err)
	}
	beaten, err := s.Beat(t.Context(), session) // of an older version
	if err != nil || beaten.Silent() > 10*time.Second || beaten.Version == long.Version {
		t.Errorf("got %+v, %v", beaten, err)
	}
	if o := p.object(); string(o.Data["heartbeat"]) != beaten.Heartbeat.Format(time.RFC3339) {
		t.Errorf("it has %s", o.Data["heartbeat"])
	}

	ending := beaten
	ending.Document.Ending = &journal.Ending{By: "controller", Reason: "silence", At: beaten.Now}
	if ending, err = p.store(p.cluster.Config(), nil).Save(t.Context(), ending); err != nil {
		t.Fatal(err)
	}
	for _, from := range []journal.Session{beaten, ending} {
		have, err := s.Beat(t.Context(), from)
		if !errors.Is(err, journal.ErrEnding) || have.Document.Ending == nil || have.Document.Ending.By != "controller" {
			t.Errorf("got %+v, %v", have, err)
		}
	}
	if now, err := s.Load(t.Context()); err != nil || now.Version != ending.Version {
		t.Errorf("it was written: %v", err)
	}

	// Another session in the same object is not this one.
	another := ending
	another.Document.Ending, another.Document.Session = nil, "S2"
	if _, err := s.Save(t.Context(), another); err != nil {
		t.Fatal(err)
	}
	if have, err := s.Beat(t.Context(), beaten); !errors.Is(err, journal.ErrConflict) || have.Document.Session != "S2" {
		t.Errorf("got %+v, %v", have, err)
	}
}

// A machine that slept has a clock that is late: what it wrote is written again.
func TestHeartbeatAfterSleep(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	config := rest.CopyConfig(p.cluster.Config())
	asleep := false
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err == nil && asleep { // what it heard last is of long ago
				date, perr := http.ParseTime(resp.Header.Get("Date"))
				if perr != nil {
					return resp, perr
				}
				resp.Header.Set("Date", date.Add(-time.Hour).Format(http.TimeFormat))
			}
			return resp, err
		})
	})
	s := p.store(config, nil)
	asleep = true
	session := p.created(s)
	asleep = false
	beaten, err := s.Beat(t.Context(), session)
	if err != nil || beaten.Silent() > 10*time.Second || beaten.Heartbeat.Sub(session.Heartbeat) < 30*time.Minute {
		t.Errorf("got %+v, %v", beaten, err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
