package argocd_test

import (
	"net/http"
	"regexp"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pharos-dev/pharos/internal/faultproxy"
)

var (
	projectPath     = regexp.MustCompile(`/appprojects/`)
	applicationPath = regexp.MustCompile(`/applications/`)
)

// Whatever goes wrong once with a write of a window or of an Application, in each
// step of a lease, it comes to the same.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]faultproxy.Rule{
		"409":         {Do: faultproxy.Answer(http.StatusConflict)},
		"409 done":    {Do: faultproxy.Answer(http.StatusConflict), AfterUpstream: true},
		"429":         {Do: faultproxy.TooManyRequests(time.Second)},
		"500":         {Do: faultproxy.Answer(http.StatusInternalServerError)},
		"500 done":    {Do: faultproxy.Answer(http.StatusInternalServerError), AfterUpstream: true},
		"504 done":    {Do: faultproxy.Answer(http.StatusGatewayTimeout), AfterUpstream: true},
		"request cut": {Do: faultproxy.Cut()},
		"answer cut":  {Do: faultproxy.Cut(), AfterUpstream: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := healed(t, stale, "api")
			w.merge(w.projects, w.name, "spec: {syncWindows: ["+other+"]}")
			before := w.spec(w.name)
			proxy, err := faultproxy.ForCluster(w.config)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(proxy.Close)
			w.config = proxy.Config(w.config)
			rule := rule
			rule.Method, rule.Times = http.MethodPatch, 1
			faulty := func(step string, f func(), paths ...*regexp.Regexp) {
				var faults []*faultproxy.Fault
				for _, p := range paths {
					rule := rule
					rule.Path = p
					faults = append(faults, proxy.Add(rule))
				}
				f()
				for i, f := range faults {
					if f.Hits() != 1 {
						t.Errorf("%s: %d writes of %s failed, want 1", step, f.Hits(), paths[i])
					}
				}
			}
			c := w.claim(time.Hour, "api")
			faulty("close", func() { w.close(c) }, projectPath, applicationPath)
			if n := len(w.windows(w.name)); n != 2 {
				t.Errorf("closed, it has %d windows", n)
			}
			c.Until = c.Until.Add(time.Minute)
			faulty("extend", func() {
				if err := w.gate().Extend(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}, projectPath)
			mustContain(t, w.windows(w.name)[1], "/"+c.Until.Format(time.RFC3339))
			w.edit("api", "edited")
			w.stays("api", "edited")
			faulty("open", func() { w.open(c) }, projectPath, applicationPath)
			if got := w.value("api"); got != "declared" {
				t.Errorf("it is %q", got)
			}
			if after := w.spec(w.name); after != before {
				t.Errorf("the project is %s, was %s", after, before)
			}
		})
	}
}

// What the API server refuses, and a server that is away, are errors that say what
// was attempted on what, and what to do; what was written is taken back if it can be.
func TestRefusals(t *testing.T) {
	t.Parallel()
	w := healed(t, healing, "api")
	before := w.spec(w.name)
	direct := w.config
	proxy, err := faultproxy.ForCluster(direct)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	behind := proxy.Config(direct)
	c := w.claim(time.Hour, "api")
	// The window is there, and the controller cannot be asked to look.
	fault := proxy.Add(faultproxy.Rule{Method: http.MethodPatch, Path: applicationPath, Do: faultproxy.Answer(http.StatusForbidden)})
	w.config = behind
	err = w.gate().Close(t.Context(), c)
	if !apierrors.IsForbidden(err) {
		t.Fatalf("got %v", err)
	}
	mustContain(t, err.Error(), "close the gate: Application argocd/"+w.named("api"), "Ask an administrator")
	if after := w.spec(w.name); after != before {
		t.Errorf("the project is %s, was %s", after, before)
	}
	fault.Remove()
	w.close(c)
	// The window cannot be ended: it stays closed, and whoever comes next ends it.
	fault = proxy.Add(faultproxy.Rule{Method: http.MethodPatch, Path: projectPath, Do: faultproxy.Answer(http.StatusForbidden)})
	r, err := w.gate().Open(t.Context(), c)
	if !apierrors.IsForbidden(err) || len(r.Opened) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	mustContain(t, err.Error(), "open the gate: AppProject argocd/"+w.name)
	fault.Remove()
	// Nothing is known where the projects cannot be listed.
	fault = proxy.Add(faultproxy.Rule{Method: http.MethodGet, Path: regexp.MustCompile(`/appprojects$`), Do: faultproxy.Answer(http.StatusInternalServerError)})
	_, oerr := w.gate().Open(t.Context(), c)
	_, serr := w.gate().Sweep(t.Context(), w.sweep(c.Until))
	for _, err := range []error{oerr, serr, w.gate().Extend(t.Context(), c), w.gate().Close(t.Context(), c)} {
		if !apierrors.IsInternalError(err) {
			t.Errorf("got %v", err)
		}
	}
	fault.Remove()
	w.open(c)
	if after := w.spec(w.name); after != before {
		t.Errorf("the project is %s, was %s", after, before)
	}
}
