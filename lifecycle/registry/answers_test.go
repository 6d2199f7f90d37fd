package registry_test

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle"
)

// A rest that is longer than the caller has time for, or than all rests together
// may be, is none: what the registry said is the error.
func TestRestsThatAreTooLongAreErrors(t *testing.T) {
	t.Parallel()
	for what, tc := range map[string]struct {
		seconds string
		limit   time.Duration
	}{
		"for the caller": {"25", 20 * time.Second}, "for anybody": {"100000", time.Hour},
		"for a number": {"18446744073709551616", time.Hour},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			proxy, r := proxied(t), newRegistry(t, nil)
			fault := proxy.Add(faultproxy.Rule{Path: regexp.MustCompile(`/manifests/`), Do: func(_ *faultproxy.Fault, w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Retry-After", tc.seconds)
				w.WriteHeader(http.StatusTooManyRequests)
				return false
			}})
			ctx, cancel := context.WithTimeout(t.Context(), tc.limit)
			defer cancel()
			_, err := r.Resolve(ctx, proxy.Host()+"/base:3")
			wantError(t, err, lifecycle.ErrUnreachable, "429 Too Many Requests", "fewer requests")
			if fault.Hits() != 1 {
				t.Errorf("it was asked %d times, want once", fault.Hits())
			}
		})
	}
}

// Who is to log in, or to look at a log, has to know where.
func TestAdviceIsForTheHostThatAnswered(t *testing.T) {
	t.Parallel()
	second := proxied(t)
	second.Add(faultproxy.Rule{Path: regexp.MustCompile(`/manifests/`), Do: unauthorized})
	first, asked := leading(t, func(_ int64, r *http.Request) string {
		return "http://" + second.Host() + r.URL.Path + "?signature=s3cr3t"
	})
	_, err := newRegistry(t, nil).Resolve(t.Context(), first+"/base:3")
	wantError(t, err, lifecycle.ErrUnreachable, "resolve image "+first+"/base:3", "leads to "+second.Host(), "docker login "+second.Host(), "!docker login "+first, "!s3cr3t")
	if asked.Load() == 0 {
		t.Error("the first host was not asked")
	}
}

// What no registry may answer is a fault of whatever answers there.
func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	answer := func(body string, headers ...string) faultproxy.Action {
		return func(_ *faultproxy.Fault, w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", string(types.OCIImageIndex))
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			if len(headers) > 0 && headers[0] == "WWW-Authenticate" {
				w.WriteHeader(http.StatusUnauthorized)
			}
			_, _ = w.Write([]byte(body))
			return false
		}
	}
	digest := "sha256:" + strings.Repeat("b", 64)
	for what, rule := range map[string]faultproxy.Rule{
		"another digest":    {Path: regexp.MustCompile(`/manifests/`), Do: answer("{}", "Docker-Content-Digest", "sha256:"+strings.Repeat("c", 64))},
		"a login of a file": {Path: regexp.MustCompile(`^/v2/$`), Do: answer("", "WWW-Authenticate", `Bearer realm="file:///etc/passwd",service="x"`)},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			proxy, r := proxied(t), newRegistry(t, nil)
			fault := proxy.Add(rule)
			_, err := r.Lacks(t.Context(), proxy.Host()+"/base@"+digest, []string{"linux/amd64"})
			wantError(t, err, lifecycle.ErrUnreachable, "Check that "+proxy.Host()+" is a registry")
			if fault.Hits() == 0 {
				t.Error("nothing was asked")
			}
		})
	}
}
