package journal_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// place is a namespace of its own on the shared cluster.
type place struct {
	*testing.T
	cluster   *devenv.Cluster
	namespace string
}

func newPlace(t *testing.T) place {
	t.Helper()
	c := devtest.Cluster(t)
	return place{T: t, cluster: c, namespace: devtest.Namespace(t, c)}
}

func (p place) store(config *rest.Config, change func(*journal.StoreConfig)) *journal.Store {
	p.Helper()
	c := journal.StoreConfig{REST: config, Namespace: p.namespace, Target: "devbox"}
	if change != nil {
		change(&c)
	}
	s, err := journal.NewStore(c)
	if err != nil {
		p.Fatal(err)
	}
	return s
}

func (p place) created(s *journal.Store) journal.Session {
	p.Helper()
	session, err := s.Create(p.Context(), document(p.namespace))
	if err != nil {
		p.Fatal(err)
	}
	return session
}

// object is the Secret.
func (p place) object() *corev1.Secret {
	p.Helper()
	o, err := devtest.Client(p, p.cluster.Config()).CoreV1().Secrets(p.namespace).Get(p.Context(), "pharos-devbox.takeover", metav1.GetOptions{})
	if err != nil {
		p.Fatal(err)
	}
	return o
}

// patch changes the Secret as somebody else.
func (p place) patch(patch string) {
	p.Helper()
	_, err := devtest.Client(p, p.cluster.Config()).CoreV1().Secrets(p.namespace).Patch(p.Context(), "pharos-devbox.takeover", types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "ann"})
	if err != nil {
		p.Fatal(err)
	}
}

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

// documented are the rights that the package comment names.
var documented = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
	{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "patch", "delete"}, ResourceNames: []string{"pharos-devbox.takeover"}},
}

// Each right is used, and where one is missing the error names it.
func TestStoreRights(t *testing.T) {
	t.Parallel()
	use := func(s *journal.Store, namespace string) error {
		session, err := s.Create(t.Context(), document(namespace))
		if err != nil {
			return err
		}
		if session, err = s.Beat(t.Context(), session); err != nil {
			return err
		}
		return s.Delete(t.Context(), session)
	}
	p := newPlace(t)
	config, user := devtest.User(t, p.cluster, p.namespace, devtest.Rights{Namespaced: documented})
	audit := devtest.RecordAudit(t, p.cluster)
	if err := use(p.store(config, nil), p.namespace); err != nil {
		t.Fatal(err)
	}
	var did []string
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		did = append(did, e.Verb)
	}
	if got := strings.Join(did, " "); got != "get create patch delete" {
		t.Errorf("it did %s", got)
	}
	for _, verb := range []string{"create", "get", "patch", "delete"} {
		less := slices.Clone(documented)
		for i := range less {
			less[i].Verbs = slices.DeleteFunc(slices.Clone(less[i].Verbs), func(v string) bool { return v == verb })
		}
		less = slices.DeleteFunc(less, func(r rbacv1.PolicyRule) bool { return len(r.Verbs) == 0 })
		p := newPlace(t)
		config, _ := devtest.User(t, p.cluster, p.namespace, devtest.Rights{Namespaced: less})
		err := use(p.store(config, nil), p.namespace)
		if err == nil || !strings.Contains(err.Error(), "cannot "+verb+" resource \"secrets\"") || !strings.Contains(err.Error(), "What is needed is") {
			t.Errorf("without %s: %v", verb, err)
		}
	}
}
