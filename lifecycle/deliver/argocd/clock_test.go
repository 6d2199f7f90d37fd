package argocd_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
)

// ahead is a server whose clock is ahead of all others.
type ahead struct {
	http.RoundTripper
	by time.Duration
}

func (a ahead) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := a.RoundTripper.RoundTrip(r)
	if err == nil {
		date, _ := http.ParseTime(resp.Header.Get("Date"))
		resp.Header.Set("Date", date.Add(a.by).UTC().Format(http.TimeFormat))
	}
	return resp, err
}

// How old a status is tells the cluster's clock, and not that of this machine. One
// that is old proves nothing, and neither does one of the future.
func TestAgeOfAStatus(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	s.root(automated)
	d := s.deliver(s.commit(s.single("")))
	config := s.config
	for by, says := range map[time.Duration]string{0: "", time.Hour: "the controller has not looked since", -time.Hour: "is of a time that comes"} {
		s.config = rest.CopyConfig(config)
		s.config.Wrap(func(next http.RoundTripper) http.RoundTripper { return ahead{next, by} })
		o, err := s.deliverer().Observe(t.Context(), d.observe())
		if err != nil {
			t.Fatal(err)
		}
		var reasons []string
		for _, u := range o.Unready {
			reasons = append(reasons, lifecycle.ObjectName(u.Object)+": "+u.Reason)
		}
		if all := strings.Join(reasons, "\n"); (says == "") != (all == "") || !strings.Contains(all, says) {
			t.Errorf("of a server %s ahead: %q, want %q", by, all, says)
		}
	}
}
