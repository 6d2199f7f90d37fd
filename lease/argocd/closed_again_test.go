package argocd_test

import (
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lease"
)

// A sweep under way leaves alone what somebody borrows meanwhile.
func TestSweepOfWhatIsBorrowedAgain(t *testing.T) {
	t.Parallel()
	w := healed(t, stale, "api")
	c := w.claim(time.Hour, "api")
	w.close(c)
	w.edit("api", "edited")
	w.stays("api", "edited")
	before := w.lastSync("api")

	proxy, err := faultproxy.ForCluster(w.config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	direct := w.config
	w.config = proxy.Config(direct)
	sweeper := w.gate()
	w.config = direct
	asked := proxy.Add(faultproxy.Rule{Method: http.MethodPatch, Path: regexp.MustCompile(`/applications/`), Times: 1, Do: faultproxy.Stall()})
	var r lease.Report
	swept := make(chan error, 1)
	go func() {
		s := c
		s.Holder, s.Now = "", time.Now().UTC().Truncate(time.Second)
		var err error
		r, err = sweeper.Sweep(t.Context(), s)
		swept <- err
	}()
	<-asked.Reached()
	next := w.claim(time.Hour, "api")
	next.Token, next.Holder = 2, "NEXT"
	w.close(next)
	asked.Release()
	if err := <-swept; err != nil || len(r.Pending) != 1 || r.Pending[0].Failed {
		t.Fatalf("%+v, %v", r, err)
	}
	mustContain(t, r.Pending[0].Reason, "denies syncs until")
	if after := w.lastSync("api"); after != before {
		t.Errorf("the last operation is %s, was %s", after, before)
	}
	w.open(next)
	if got := w.value("api"); got != "declared" {
		t.Errorf("it is %q", got)
	}
	if _, err := w.gate().Sweep(t.Context(), w.sweep(c.Until)); err != nil || w.windows(w.name) != nil {
		t.Errorf("%v, left over is %s", err, w.windows(w.name))
	}
}
