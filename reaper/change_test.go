package reaper_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
)

// bench is a namespace of a real API server.
type bench struct {
	config    *rest.Config
	kube      kubernetes.Interface
	namespace string
}

func newBench(t *testing.T) bench {
	c := devtest.Cluster(t)
	return bench{c.Config(), devtest.Client(t, c.Config()), devtest.Namespace(t, c)}
}

func client(t *testing.T, config *rest.Config) *reaper.Client {
	t.Helper()
	c, err := reaper.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// create makes a ConfigMap.
func (b bench) create(t *testing.T, name string, labels, annotations marks, finalizers ...string) reaper.Ref {
	t.Helper()
	m, err := b.kube.CoreV1().ConfigMaps(b.namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: annotations, Finalizers: finalizers},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return reaper.Ref{Version: "v1", Resource: "configmaps", Kind: "ConfigMap", Namespace: b.namespace, Name: name, UID: string(m.UID)}
}

func (b bench) get(t *testing.T, name string) *corev1.ConfigMap {
	t.Helper()
	m, err := b.kube.CoreV1().ConfigMaps(b.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (b bench) delete(t *testing.T, name string) {
	t.Helper()
	if err := b.kube.CoreV1().ConfigMaps(b.namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

var transient = marks{keys.Intent: "transient"}

// user may do this with ConfigMaps of the namespace, and nothing else.
func (b bench) user(t *testing.T, verbs ...string) (*rest.Config, string) {
	t.Helper()
	return devtest.User(t, devtest.Cluster(t), b.namespace, devtest.Rights{Namespaced: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs}}})
}

// about checks that a time is about now.
func about(t *testing.T, value string, want time.Time) {
	t.Helper()
	got, err := reaper.ParseTime(value)
	if err != nil {
		t.Fatal(err)
	}
	if off := got.Sub(want); off < -time.Minute || off > time.Minute {
		t.Errorf("%s is not about %s", got, want)
	}
}

func TestTouch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	config, _ := b.user(t, "patch") // and nothing else
	r := b.create(t, "touched", transient, marks{keys.TTL: "1h", keys.LastActive: "2026-01-01T00:00:00Z"})
	before := b.get(t, "touched")

	o, err := client(t, config).Touch(t.Context(), r, reaper.Change{DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	about(t, o.Annotations[keys.LastActive], time.Now())
	if now := b.get(t, "touched"); now.ResourceVersion != before.ResourceVersion {
		t.Error("a dry run has written")
	}

	o, err = client(t, config).Touch(t.Context(), r, reaper.Change{})
	if err != nil {
		t.Fatal(err)
	}
	now := b.get(t, "touched")
	about(t, now.Annotations[keys.LastActive], time.Now())
	if now.Annotations[keys.TTL] != "1h" || o.UID != r.UID || o.ResourceVersion != now.ResourceVersion || o.String() != "ConfigMap "+b.namespace+"/touched" {
		t.Errorf("it returned %+v, and there is %+v", o, now.ObjectMeta)
	}
}

// The time is the API server's, also where this machine's is another.
func TestTouchByTheServersClock(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.create(t, "clock", transient, marks{keys.TTL: "1h"})
	counted, counter := devtest.Count(b.config)
	c := client(t, counted)
	for range 3 {
		if _, err := c.Touch(t.Context(), r, reaper.Change{}); err != nil {
			t.Fatal(err)
		}
	}
	var asked []string
	for _, req := range counter.Requests() {
		asked = append(asked, req.Method+" "+req.Path)
	}
	path := "/api/v1/namespaces/" + b.namespace + "/configmaps/clock"
	if got, want := strings.Join(asked, ", "), "GET /version, PATCH "+path+", PATCH "+path+", PATCH "+path; got != want {
		t.Errorf("it asked for %s, want %s", got, want)
	}
}

// What has the name and another UID is another object.
func TestChangesOfAnother(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.create(t, "twice", transient, marks{keys.TTL: "1h"})
	b.delete(t, "twice")
	b.create(t, "twice", transient, marks{keys.TTL: "1h"})
	before := b.get(t, "twice")
	gone := b.create(t, "gone", transient, nil)
	b.delete(t, "gone")
	ending := b.create(t, "ending", transient, marks{keys.TTL: "1h"}, "example.org/wait")
	b.delete(t, "ending")
	t.Cleanup(func() {
		_, _ = b.kube.CoreV1().ConfigMaps(b.namespace).Patch(t.Context(), "ending", "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	})
	c := client(t, b.config)
	for op, f := range map[string]func(reaper.Ref) error{
		"touch":  func(r reaper.Ref) error { _, err := c.Touch(t.Context(), r, reaper.Change{}); return err },
		"retain": func(r reaper.Ref) error { _, err := c.Retain(t.Context(), r, reaper.Change{}); return err },
		"extend": func(r reaper.Ref) error { _, err := c.Extend(t.Context(), r, time.Hour, reaper.Change{}); return err },
	} {
		for want, r := range map[error]reaper.Ref{reaper.ErrGone: r, reaper.ErrEnding: ending} {
			err := f(r)
			var e *reaper.Error
			if !errors.Is(err, want) || !errors.As(err, &e) || e.Op != op || !strings.Contains(e.Object, r.Name) {
				t.Errorf("%s %s: %v, want %v", op, r, err, want)
			}
		}
		if err := f(gone); !errors.Is(err, reaper.ErrGone) {
			t.Errorf("%s what is gone: %v", op, err)
		}
		r := r
		r.UID = ""
		if err := f(r); err == nil || errors.Is(err, reaper.ErrGone) {
			t.Errorf("%s without a UID: %v", op, err)
		}
	}
	if now := b.get(t, "twice"); now.ResourceVersion != before.ResourceVersion {
		t.Errorf("another object was changed: %+v", now.ObjectMeta)
	}
}

func TestRetain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	config, _ := b.user(t, "patch")
	r := b.create(t, "kept", marks{keys.Intent: "transient", "app": "shop"},
		marks{keys.TTL: "1s", keys.ExpiresAt: "2026-01-01T00:00:00Z", keys.Grace: "broken", keys.LastActive: "x", keys.Ending: "2026-01-01T00:00:00Z", keys.Owner: "ann"})
	o, err := client(t, config).Retain(t.Context(), r, reaper.Change{})
	if err != nil {
		t.Fatal(err)
	}
	now := b.get(t, "kept")
	if now.Labels[keys.Intent] != "retained" || now.Labels["app"] != "shop" || len(now.Annotations) != 1 || now.Annotations[keys.Owner] != "ann" {
		t.Errorf("it is %+v", now.ObjectMeta)
	}
	if d := (reaper.Rules{}).Decide(o, time.Now()); d.Reason != reaper.IsRetained {
		t.Errorf("decided %+v", d)
	}
}

// A touch that is tried again says when that was.
func TestTouchThatIsLate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	late := b.create(t, "late", transient, marks{keys.TTL: "1h"})
	// The first try fails, and takes an hour: so says another answer meanwhile.
	var c *reaper.Client
	slow, failed := rest.CopyConfig(b.config), false
	slow.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPatch && !failed {
				failed = true
				if _, err := c.Get(r.Context(), late); err != nil {
					return nil, err
				}
				return &http.Response{StatusCode: http.StatusInternalServerError, Body: http.NoBody, Request: r}, nil
			}
			resp, err := next.RoundTrip(r)
			if err == nil && failed {
				resp.Header.Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
			}
			return resp, err
		})
	})
	c = client(t, slow)
	if _, err := c.Touch(t.Context(), late, reaper.Change{}); err != nil {
		t.Fatal(err)
	}
	if !failed {
		t.Error("it was not tried again")
	}
	about(t, b.get(t, "late").Annotations[keys.LastActive], time.Now().Add(time.Hour))
}

func TestNamesAreNoPaths(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	counted, counter := devtest.Count(b.config)
	c := client(t, counted)
	for _, name := range []string{"..", ".", "a/b", "%2e"} {
		for _, r := range []reaper.Ref{
			{Version: "v1", Resource: "configmaps", Namespace: b.namespace, Name: name, UID: "u"},
			{Version: "v1", Resource: "configmaps", Namespace: name, Name: "a", UID: "u"},
			{Version: "v1", Resource: name, Namespace: b.namespace, Name: "a", UID: "u"},
		} {
			_, got := c.Get(t.Context(), r)
			_, touched := c.Touch(t.Context(), r, reaper.Change{})
			_, retained := c.Retain(t.Context(), r, reaper.Change{})
			_, extended := c.Extend(t.Context(), r, time.Hour, reaper.Change{})
			for _, err := range []error{got, touched, retained, extended} {
				if err == nil || !strings.Contains(err.Error(), "names no object") {
					t.Errorf("%+v: %v", r, err)
				}
			}
		}
	}
	if n := len(counter.Requests()); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestExtend(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	config, _ := b.user(t, "get", "patch")
	c := client(t, config)
	soon, far := reaper.FormatTime(time.Now().Add(time.Minute)), reaper.FormatTime(time.Now().Add(100*time.Hour))
	for name, tc := range map[string]struct {
		has, want marks // a want of "2h" is in two hours where it is a time
	}{
		"ttl-short":     {marks{keys.TTL: "1h"}, marks{keys.TTL: "2h"}},
		"ttl-long":      {marks{keys.TTL: "1w"}, marks{keys.TTL: "1w"}},
		"expires-soon":  {marks{keys.ExpiresAt: soon}, marks{keys.ExpiresAt: "2h"}},
		"expires-late":  {marks{keys.ExpiresAt: far}, marks{keys.ExpiresAt: far}},
		"both":          {marks{keys.TTL: "1h", keys.ExpiresAt: soon}, marks{keys.TTL: "2h", keys.ExpiresAt: "2h"}},
		"one-of-both":   {marks{keys.TTL: "3h", keys.ExpiresAt: soon}, marks{keys.TTL: "3h", keys.ExpiresAt: "2h"}},
		"no-end":        {nil, marks{keys.ExpiresAt: "2h"}},
		"past":          {marks{keys.TTL: "1s", keys.ExpiresAt: "2026-01-01T00:00:00Z"}, marks{keys.TTL: "2h", keys.ExpiresAt: "2h"}},
		"active-ahead":  {marks{keys.TTL: "1h", keys.LastActive: "2999-01-01T00:00:00Z"}, marks{keys.TTL: "2h"}},
		"being-ended":   {marks{keys.TTL: "3h", keys.Ending: "2026-01-01T00:00:00Z"}, marks{keys.TTL: "3h"}},
		"keeps-a-grace": {marks{keys.TTL: "1h", keys.Grace: "5m"}, marks{keys.TTL: "2h", keys.Grace: "5m"}},
	} {
		r := b.create(t, name, transient, tc.has)
		o, err := c.Extend(t.Context(), r, 2*time.Hour-time.Millisecond, reaper.Change{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := b.get(t, name).Annotations
		about(t, got[keys.LastActive], time.Now())
		if len(got) != len(tc.want)+1 {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
		for key, want := range tc.want {
			if key == keys.ExpiresAt && want == "2h" {
				about(t, got[key], time.Now().Add(2*time.Hour))
			} else if got[key] != want {
				t.Errorf("%s: %v, want %v", name, got, tc.want)
			}
		}
		if d := (reaper.Rules{}).Decide(o, time.Now().Add(2*time.Hour-time.Minute)); d.Verdict != reaper.Wait {
			t.Errorf("%s: shortly before two hours it is decided %+v", name, d)
		}
	}
}

func TestExtendRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := client(t, b.config)
	for name, tc := range map[string]struct {
		labels, annotations marks
		d                   time.Duration
		want                error
	}{
		"no-intent": {nil, marks{keys.TTL: "1h"}, time.Hour, reaper.ErrNotTransient},
		"retained":  {marks{keys.Intent: "retained"}, nil, time.Hour, reaper.ErrNotTransient},
		"malformed": {transient, marks{keys.TTL: "3600"}, time.Hour, reaper.ErrIntent},
		"nothing":   {transient, marks{keys.TTL: "1h"}, 0, reaper.ErrDuration},
		"back":      {transient, marks{keys.TTL: "1h"}, -time.Hour, reaper.ErrDuration},
		"for-ever":  {transient, marks{keys.TTL: "1h"}, reaper.MaxDuration + 1, reaper.ErrDuration},
	} {
		r := b.create(t, name, tc.labels, tc.annotations)
		before := b.get(t, name)
		if _, err := c.Extend(t.Context(), r, tc.d, reaper.Change{}); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
		if b.get(t, name).ResourceVersion != before.ResourceVersion {
			t.Errorf("%s was changed", name)
		}
	}
}

// A change that others made after it was read is not lost, and decided by.
func TestExtendDecidesAnew(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.create(t, "raced", transient, marks{keys.TTL: "1h"})
	config := rest.CopyConfig(b.config)
	var times int
	between(config, "PATCH", func() {
		if times++; times > 1 {
			return
		}
		_, err := b.kube.CoreV1().ConfigMaps(b.namespace).Patch(t.Context(), "raced", "application/merge-patch+json",
			[]byte(`{"metadata":{"annotations":{"`+keys.TTL+`":"3h"}}}`), metav1.PatchOptions{})
		if err != nil {
			t.Error(err)
		}
	})
	if _, err := client(t, config).Extend(t.Context(), r, 2*time.Hour, reaper.Change{}); err != nil {
		t.Fatal(err)
	}
	if got := b.get(t, "raced").Annotations[keys.TTL]; got != "3h" || times != 2 {
		t.Errorf("the TTL is %s after %d patches", got, times)
	}
}

// Whoever may not, is told what is missing.
func TestChangesForbidden(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	config, name := b.user(t, "get")
	r := b.create(t, "theirs", transient, marks{keys.TTL: "1h"})
	audit := devtest.RecordAudit(t, devtest.Cluster(t))
	_, err := client(t, config).Touch(t.Context(), r, reaper.Change{})
	var e *reaper.Error
	if !errors.As(err, &e) || !strings.Contains(e.Advice, "patch configmaps") {
		t.Errorf("error %v", err)
	}
	if n := len(audit.Events(t, func(ev devenv.AuditEvent) bool { return devtest.ByUser(name)(ev) && ev.Verb == "patch" })); n != 1 {
		t.Errorf("%d patches, want one that is refused", n)
	}
}
