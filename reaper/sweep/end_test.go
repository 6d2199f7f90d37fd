package sweep_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/sweep"
)

func TestEndsWhatIsPastItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.configMap(transient("over", past))
	w.end(w.ender(), m, sweep.Deleted)
	if w.exists(m) {
		t.Error("it is still there")
	}
	w.end(w.ender(), m, sweep.Gone)
}

func TestDryRunDecidesAndWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dry := w.ender(func(c *sweep.Config) { c.DryRun = true })
	m := w.configMap(transient("over", past))
	w.end(dry, m, sweep.WouldDelete)
	if !w.exists(m) {
		t.Error("a dry run deleted it")
	}
}

// What an object says or is decides; each is read from the API server.
func TestEndsNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := w.configMap(metav1.ObjectMeta{Name: "owner"})
	annotated := func(key, value string) metav1.ObjectMeta {
		m := transient("", past)
		m.Annotations[key] = value
		return m
	}
	for name, tt := range map[string]struct {
		meta   metav1.ObjectMeta
		want   sweep.Outcome
		reason reaper.Reason
	}{
		"no-intent":   {metav1.ObjectMeta{Annotations: past}, sweep.Kept, reaper.NoIntent},
		"retained":    {metav1.ObjectMeta{Annotations: past, Labels: map[string]string{keys.Intent: "retained"}}, sweep.Kept, reaper.IsRetained},
		"misspelt":    {metav1.ObjectMeta{Annotations: past, Labels: map[string]string{keys.Intent: "transiet"}}, sweep.Refused, reaper.BadIntent},
		"not-due":     {transient("", later()), sweep.Waiting, reaper.NotDue},
		"no-end":      {transient("", nil), sweep.Refused, reaper.NoEnd},
		"bare-number": {annotated(keys.TTL, "60"), sweep.Refused, reaper.BadIntent},
		"negative":    {annotated(keys.TTL, "-7d"), sweep.Refused, reaper.BadIntent},
		"zero":        {annotated(keys.TTL, "0"), sweep.Refused, reaper.BadIntent},
		"overflow":    {annotated(keys.TTL, "99999999999999999999d"), sweep.Refused, reaper.BadIntent},
		"parts":       {annotated(keys.TTL, "1d500ms"), sweep.Refused, reaper.BadIntent},
		"no-zone":     {annotated(keys.ExpiresAt, "2020-01-02T03:04:05"), sweep.Refused, reaper.BadIntent},
		"est":         {annotated(keys.ExpiresAt, "2020-01-02T03:04:05 EST"), sweep.Refused, reaper.BadIntent},
		"argo":        {annotated("argocd.argoproj.io/tracking-id", "x"), sweep.Refused, reaper.DeclaredBy},
		"kept":        {annotated("helm.sh/resource-policy", "keep"), sweep.Refused, reaper.KeptBy},
		"owned": {metav1.ObjectMeta{Annotations: past, Labels: map[string]string{keys.Intent: "transient"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}}, sweep.Kept, reaper.Owned},
	} {
		tt.meta.Name = name
		m := w.configMap(tt.meta)
		res := w.end(w.ender(), m, tt.want)
		if res.Decision.Reason != tt.reason || !w.exists(m) {
			t.Errorf("%s: got %s, is there: %t; want %s", name, res.Decision.Reason, w.exists(m), tt.reason)
		}
	}
}

// A name is no path: it does not lead to another object.
func TestNamesAreNoPaths(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config, requests := devtest.Count(w.cluster.Config())
	e := ender(t, config)
	m := w.configMap(transient("over", past))
	for _, tt := range []struct{ namespace, name, uid string }{
		{w.ns, "", string(m.UID)}, {w.ns, "over", ""}, {"..", "over", "x"}, {w.ns, "../configmaps/over", string(m.UID)}, {w.ns + "/configmaps/over?x=", "over", "x"}, {w.ns, "a%2fb", "x"},
	} {
		if _, err := e.End(t.Context(), configMaps, tt.namespace, tt.name, tt.uid); err == nil {
			t.Errorf("End took %q, %q, %q", tt.namespace, tt.name, tt.uid)
		}
		if _, err := e.Notify(t.Context(), configMaps, tt.namespace, tt.name, tt.uid); err == nil {
			t.Errorf("Notify took %q, %q, %q", tt.namespace, tt.name, tt.uid)
		}
	}
	if _, err := e.Pass(t.Context(), sweep.PassOptions{Namespace: "../" + w.ns}); err == nil {
		t.Error("a pass took a path")
	}
	if got := requests.Requests(); len(got) > 0 {
		t.Errorf("it made %+v", got)
	}
	if !w.exists(m) {
		t.Error("it is gone")
	}
}

// skewed has an object's own answer as the server gives it, and every other one two days
// ahead. While the body of the first is read it calls f.
type skewed struct {
	next http.RoundTripper
	f    func()
}

func (s skewed) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.next.RoundTrip(r)
	switch {
	case err != nil:
	case strings.Contains(r.URL.Path, "/configmaps/"):
		resp.Body = readAfter{resp.Body, sync.OnceFunc(s.f)}
	default:
		resp.Header.Set("Date", time.Now().Add(48*time.Hour).UTC().Format(http.TimeFormat))
	}
	return resp, err
}

type readAfter struct {
	io.ReadCloser
	f func()
}

func (r readAfter) Read(p []byte) (int, error) {
	r.f()
	return r.ReadCloser.Read(p)
}

// Whatever Date another answer has meanwhile, an object is decided about by that of the
// answer which it came with.
func TestEndByTheDateOfItsOwnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.configMap(transient("tomorrow", later()))
	var e *sweep.Ender
	asked := 0
	config := w.cluster.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return skewed{next, func() {
			if asked++; asked > 1 {
				return
			}
			if _, _, err := e.Resources(t.Context(), []string{"pods"}); err != nil {
				t.Error(err)
			}
		}}
	})
	e = ender(t, config)
	w.end(e, m, sweep.Waiting)
	if asked == 0 {
		t.Error("there was no other answer")
	}
}
