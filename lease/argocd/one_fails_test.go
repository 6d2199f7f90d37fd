package argocd_test

import (
	"net/http"
	"regexp"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pharos-dev/pharos/internal/faultproxy"
)

// An Application that the API server lets nobody write does not keep the others from
// coming back, and is left for later.
func TestHandBackBesideOneThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	w := healed(t, stale, "api", "mail")
	before := w.spec(w.name)
	c := w.claim(time.Hour, "api", "mail")
	w.close(c)
	for _, f := range []string{"api", "mail"} {
		w.edit(f, "edited")
		w.stays(f, "edited")
	}
	proxy, err := faultproxy.ForCluster(w.config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	direct := w.config
	w.config = proxy.Config(direct)
	proxy.Add(faultproxy.Rule{Method: http.MethodPatch, Path: regexp.MustCompile(`/applications/` + w.named("api") + `$`), Do: faultproxy.Answer(http.StatusForbidden)})
	c.Now = time.Now().UTC().Truncate(time.Second)
	r, err := w.gate().Open(t.Context(), c)
	if !apierrors.IsForbidden(err) || len(r.Pending) != 1 || r.Pending[0].Name != w.named("api") || r.Pending[0].Failed {
		t.Fatalf("%+v, %v", r, err)
	}
	mustContain(t, err.Error(), w.named("api"), "Ask an administrator")
	if got := w.value("mail"); got != "declared" {
		t.Errorf("the other one is %q", got)
	}
	w.config = direct
	w.open(c)
	if got := w.value("api"); got != "declared" {
		t.Errorf("it is %q", got)
	}
	if after := w.spec(w.name); after != before {
		t.Errorf("the project is %s, was %s", after, before)
	}
}
