package transport_test

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/transport"
)

// A server that redirects is not followed, however it is given credentials and
// whatever is configured: the other one sees no request. The advice has its address.
func TestRedirects(t *testing.T) {
	t.Parallel()
	const header = "Authorization: Basic bWU6aHVudGVyMg=="
	asked := regexp.MustCompile(`/info/refs$`)
	for name, tc := range map[string]struct {
		status  int
		path    *regexp.Regexp // of the requests that are redirected
		prepare func(t *testing.T, c *transport.Config)
	}{
		"address": {http.StatusFound, asked, func(_ *testing.T, c *transport.Config) {
			c.URL = strings.Replace(c.URL, "http://", "http://me:hunter2@", 1)
		}},
		"checkout's header": {http.StatusMovedPermanently, asked, func(t *testing.T, c *transport.Config) {
			git(t, c.Dir, "config", "http.extraHeader", header)
			git(t, c.Dir, "config", "http.followRedirects", "true")
		}},
		"header for the address": {http.StatusTemporaryRedirect, asked, func(t *testing.T, c *transport.Config) {
			git(t, c.Dir, "config", "http."+c.URL+".extraHeader", header)
			git(t, c.Dir, "config", "http."+c.URL+".followRedirects", "true")
		}},
		"push only": {http.StatusPermanentRedirect, receivePack, func(t *testing.T, c *transport.Config) {
			git(t, c.Dir, "config", "http.extraHeader", header)
			git(t, c.Dir, "config", "http.followRedirects", "true")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newServer(t, "sha1"), checkout(t, "sha1")
			other, to := behind(t, s)
			proxy, url := behind(t, s)
			redirects := proxy.Add(faultproxy.Rule{Path: tc.path, Do: func(_ *faultproxy.Fault, w http.ResponseWriter, r *http.Request) bool {
				at := strings.Replace(to, "127.0.0.1", "sesame:open@localhost", 1) + strings.TrimPrefix(r.URL.Path, "/repo.git")
				http.Redirect(w, r, at+"?token=sesame&"+r.URL.RawQuery, tc.status)
				return false
			}})
			c := transport.Config{URL: url, Dir: dir}
			tc.prepare(t, &c)
			_, err := remote(t, c).PushInputs(t.Context(), pruned(t, dir, "api"))
			var failed *lifecycle.Error
			if !errors.Is(err, lifecycle.ErrUnreachable) || !errors.As(err, &failed) ||
				!strings.Contains(failed.Advice, strings.Replace(to, "127.0.0.1", "localhost", 1)+",") {
				t.Fatalf("error %v, want the advice to name %s", err, to)
			}
			if strings.Contains(err.Error(), "sesame") || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v shows what is secret", err)
			}
			if redirects.Hits() == 0 || len(other.Requests()) != 0 {
				t.Errorf("%d requests were redirected; the other server got %+v", redirects.Hits(), other.Requests())
			}
		})
	}
}
