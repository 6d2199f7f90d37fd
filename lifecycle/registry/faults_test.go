package registry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/registry"
)

// each kind of request that a push makes
var pushRequests = map[string]faultproxy.Rule{
	"the greeting":           {Method: http.MethodGet, Path: regexp.MustCompile(`^/v2/$`)},
	"a look for a manifest":  {Method: http.MethodHead, Path: regexp.MustCompile(`/manifests/`)},
	"a look for a blob":      {Method: http.MethodHead, Path: regexp.MustCompile(`/blobs/`)},
	"the start of an upload": {Method: http.MethodPost, Path: regexp.MustCompile(`/blobs/uploads/`)},
	"a blob":                 {Method: http.MethodPatch, Path: regexp.MustCompile(`/blobs/uploads/`)},
	"the end of an upload":   {Method: http.MethodPut, Path: regexp.MustCompile(`/blobs/uploads/`)},
	"a manifest":             {Method: http.MethodPut, Path: regexp.MustCompile(`/manifests/sha256:`)},
	"the tag":                {Method: http.MethodPut, Path: regexp.MustCompile(`/manifests/fp-`)},
}

var faults = map[string]faultproxy.Action{
	"429": faultproxy.TooManyRequests(0), "500": faultproxy.Answer(http.StatusInternalServerError),
	"503": faultproxy.Answer(http.StatusServiceUnavailable), "a cut": faultproxy.Cut(),
}

func TestPushGoesOnAfterFaults(t *testing.T) {
	t.Parallel()
	for what, rule := range pushRequests {
		for how, action := range faults {
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, after=%t", what, how, after), func(t *testing.T) {
					t.Parallel()
					proxy, r, fp := proxied(t), newRegistry(t, nil), fingerprint("api")
					rule := rule // each test has its own
					rule.Times, rule.Do, rule.AfterUpstream = 2, action, after
					fault := proxy.Add(rule)
					repo := proxy.Host() + "/dev/api"
					digest := push(t, r, repo, newIndex(t, "linux/amd64"), fp)
					if fault.Hits() != 2 {
						t.Errorf("%d requests failed, want 2", fault.Hits())
					}
					fault.Remove()
					if got, err := r.Find(t.Context(), repo, fp); err != nil || got.Digest != digest {
						t.Errorf("Find says %v, %v", got, err)
					}
				})
			}
		}
	}
}

func TestLookupGoesOnAfterFaults(t *testing.T) {
	t.Parallel()
	for how, action := range faults {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			proxy, fp := proxied(t), fingerprint("api")
			repo := proxy.Host() + "/dev/api"
			want := push(t, newRegistry(t, nil), repo, newIndex(t, "linux/amd64"), fp)
			fault := proxy.Add(faultproxy.Rule{Method: http.MethodGet, Times: 3, Do: action})
			r := newRegistry(t, nil)
			if got, err := r.Find(t.Context(), repo, fp); err != nil || got.Digest != want {
				t.Errorf("Find says %v, %v", got, err)
			}
			if fault.Hits() != 3 {
				t.Errorf("%d requests failed, want 3", fault.Hits())
			}
		})
	}
}

func TestFinishedBlobsAreNotSentAgain(t *testing.T) {
	t.Parallel()
	proxy, r := proxied(t), newRegistry(t, nil)
	fault := proxy.Add(faultproxy.Rule{Method: http.MethodPut, Path: regexp.MustCompile(`/manifests/`), Times: 1, Do: faultproxy.Cut()})
	index := newIndex(t, "linux/amd64")
	push(t, r, proxy.Host()+"/dev/api", index, fingerprint("one"))
	sent := count(proxy, http.MethodPatch)
	if want := 3; sent != want || fault.Hits() != 1 { // two layers and a configuration
		t.Errorf("%d blobs were sent, want %d; %d faults", sent, want, fault.Hits())
	}
	push(t, newRegistry(t, nil), proxy.Host()+"/dev/api", index, fingerprint("two"))
	if again := count(proxy, http.MethodPatch); again != sent {
		t.Errorf("the same images under another fingerprint sent %d blobs again", again-sent)
	}
}

// A registry that lost an image must get it again from the same process.
func TestPushAfterTheRegistryLostTheImage(t *testing.T) {
	t.Parallel()
	host, r, fp := devtest.Registry(t), newRegistry(t, nil), fingerprint("api")
	index := newIndex(t, "linux/amd64")
	digest := push(t, r, host+"/dev/api", index, fp)
	remove(t, "http://"+host+"/v2/dev/api/manifests/"+string(digest))
	_, err := r.Lookup(t.Context(), host+"/dev/api", digest)
	wantError(t, err, lifecycle.ErrImageNotFound)
	push(t, r, host+"/dev/api", index, fp)
	if _, err := r.Lookup(t.Context(), host+"/dev/api", digest); err != nil {
		t.Error(err)
	}
}

func TestPersistentFaultsEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		do    faultproxy.Action
		tries int
		words []string
	}{
		{"429", faultproxy.TooManyRequests(0), 5, []string{"429 Too Many Requests", "fewer requests"}},
		{"500", faultproxy.Answer(http.StatusInternalServerError), 5, []string{"500 Internal Server Error", "look at its log"}},
		{"401", faultproxy.Answer(http.StatusUnauthorized), 1, []string{"401 Unauthorized", "docker login"}},
		{"403", faultproxy.Answer(http.StatusForbidden), 1, []string{"403 Forbidden", "Ask for access"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			proxy, r := proxied(t), newRegistry(t, nil)
			fault := proxy.Add(faultproxy.Rule{Path: regexp.MustCompile(`/manifests/`), Do: tt.do})
			repo := proxy.Host() + "/dev/api"
			_, err := r.Find(t.Context(), repo, fingerprint("x"))
			wantError(t, err, lifecycle.ErrUnreachable, append(tt.words, "find image", repo)...)
			if fault.Hits() != tt.tries {
				t.Errorf("it was tried %d times, want %d", fault.Hits(), tt.tries)
			}
			_, err = r.Push(t.Context(), repo, newIndex(t, "linux/amd64"), fingerprint("x"))
			wantError(t, err, lifecycle.ErrUnreachable, append(tt.words, "push image", repo)...)
		})
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	r, host := newRegistry(t, nil), closedPort(t)
	_, err := r.Find(t.Context(), host+"/dev/api", fingerprint("x"))
	wantError(t, err, lifecycle.ErrUnreachable, "find image", host, "connection refused", "Check that the registry")
}

func TestRestsEndWithTheContext(t *testing.T) {
	t.Parallel()
	proxy, r := proxied(t), newRegistry(t, nil)
	// Longer than the test may take.
	fault := proxy.Add(faultproxy.Rule{Path: regexp.MustCompile(`/manifests/`), Do: faultproxy.TooManyRequests(100 * time.Second)})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	failed := make(chan error)
	go func() {
		_, err := r.Find(ctx, proxy.Host()+"/dev/api", fingerprint("x"))
		failed <- err
	}()
	<-fault.Reached()
	why := errors.New("the user pressed Ctrl-C")
	cancel(why)
	if err := <-failed; !errors.Is(err, why) || errors.Is(err, lifecycle.ErrUnreachable) {
		t.Errorf("got the error %v, want the context's cause", err)
	}
}

func TestAStalledRequestEndsWithTheContext(t *testing.T) {
	t.Parallel()
	proxy, r := proxied(t), newRegistry(t, nil)
	fault := proxy.Add(faultproxy.Rule{Method: http.MethodPatch, Do: faultproxy.Stall()})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := make(chan error)
	go func() {
		_, err := r.Push(ctx, proxy.Host()+"/dev/api", newIndex(t, "linux/amd64"), fingerprint("x"))
		failed <- err
	}()
	<-fault.Reached()
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got the error %v, want context.Canceled", err)
	}
}

// Many images of one registry cost one request each, and one greeting together.
func TestOneRequestForEachImage(t *testing.T) {
	t.Parallel()
	proxy := proxied(t)
	digests := map[string]lifecycle.Digest{}
	for i := range 20 {
		repo := fmt.Sprintf("%s/dev/image-%d", proxy.Host(), i)
		digests[repo] = push(t, newRegistry(t, nil), repo, newIndex(t, "linux/amd64"), fingerprint(repo))
	}
	before, r := len(proxy.Requests()), newRegistry(t, nil)
	var wg sync.WaitGroup
	for repo, digest := range digests {
		wg.Go(func() {
			if _, err := r.Lookup(t.Context(), repo, digest); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got, want := len(proxy.Requests())-before, len(digests)+1; got != want {
		t.Errorf("%d lookups took %d requests, want %d", len(digests), got, want)
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	const password = "hunter2"
	proxy := proxied(t)
	// The registry is open; the proxy asks for a password in its place.
	proxy.Add(faultproxy.Rule{Do: unauthorized, Match: func(r *http.Request) bool {
		_, given, _ := r.BasicAuth()
		return given != password
	}})
	repo := proxy.Host() + "/dev/api"
	_, err := newRegistry(t, nil).Push(t.Context(), repo, newIndex(t, "linux/amd64"), fingerprint("x"))
	wantError(t, err, lifecycle.ErrUnreachable, "401", "docker login "+proxy.Host())
	wrong := keychain{authn.FromConfig(authn.AuthConfig{Username: "me", Password: "wrong-secret"})}
	_, err = newRegistry(t, wrong).Push(t.Context(), repo, newIndex(t, "linux/amd64"), fingerprint("x"))
	wantError(t, err, lifecycle.ErrUnreachable, "401", "!wrong-secret")
	right := keychain{authn.FromConfig(authn.AuthConfig{Username: "me", Password: password})}
	push(t, newRegistry(t, right), repo, newIndex(t, "linux/amd64"), fingerprint("x"))
}

func unauthorized(_ *faultproxy.Fault, w http.ResponseWriter, _ *http.Request) bool {
	w.Header().Set("WWW-Authenticate", `Basic realm="tests"`)
	w.WriteHeader(http.StatusUnauthorized)
	return false
}

type keychain struct{ auth authn.Authenticator }

func (k keychain) Resolve(authn.Resource) (authn.Authenticator, error) { return k.auth, nil }

func TestPlainHTTPIsRefused(t *testing.T) {
	t.Parallel()
	proxy := proxied(t)
	r, err := registry.New(registry.Config{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Find(t.Context(), proxy.Host()+"/dev/api", fingerprint("x"))
	wantError(t, err, lifecycle.ErrUnreachable, "plain HTTP is not allowed here", "insecure: true")
	if n := len(proxy.Requests()); n > 0 {
		t.Errorf("%d requests went over plain HTTP", n)
	}
}

func TestErrorsHoldNoAddresses(t *testing.T) {
	t.Parallel()
	err := &url.Error{Op: "Patch", URL: "https://storage.example/upload?X-Signature=s3cr3t", Err: errors.New("it broke")}
	if got := registry.Describe(fmt.Errorf("push: %w", err)); strings.Contains(got, "s3cr3t") || !strings.Contains(got, "it broke") {
		t.Errorf("the error says %q", got)
	}
}

func count(p *faultproxy.Proxy, method string) int {
	n := 0
	for _, r := range p.Requests() {
		if r.Method == method {
			n++
		}
	}
	return n
}
