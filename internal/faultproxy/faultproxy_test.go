package faultproxy_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
)

// ahead is a proxy in front of the test's cluster with clients on both sides of it.
type ahead struct {
	proxy          *faultproxy.Proxy
	ns             string
	direct, behind kubernetes.Interface
}

func setUp(t *testing.T) ahead {
	t.Helper()
	c := devtest.Cluster(t)
	proxy, err := faultproxy.ForCluster(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	return ahead{
		proxy:  proxy,
		ns:     devtest.Namespace(t, c),
		direct: devtest.Client(t, c.Config()),
		behind: devtest.Client(t, proxy.Config(c.Config())),
	}
}

func (a ahead) create(ctx context.Context, name string) error {
	_, err := a.behind.CoreV1().ConfigMaps(a.ns).Create(ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	return err
}

// exists asks the API server itself.
func (a ahead) exists(t *testing.T, name string) bool {
	t.Helper()
	_, err := a.direct.CoreV1().ConfigMaps(a.ns).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

var (
	configMaps = regexp.MustCompile(`/configmaps`)
	creating   = faultproxy.Rule{Method: http.MethodPost, Path: configMaps, Times: 1}
)

func TestPassesThroughWithoutRules(t *testing.T) {
	t.Parallel()
	a := setUp(t)
	if err := a.create(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if !a.exists(t, "one") {
		t.Error("the object is not there")
	}
	got := a.proxy.Requests()
	if len(got) != 1 || got[0].Method != http.MethodPost || got[0].Path != "/api/v1/namespaces/"+a.ns+"/configmaps" || got[0].Fault != nil {
		t.Errorf("requests: got %+v", got)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		code int
		is   func(error) bool
	}{
		{http.StatusForbidden, apierrors.IsForbidden},
		{http.StatusConflict, apierrors.IsConflict},
		{http.StatusInternalServerError, apierrors.IsInternalError},
		{http.StatusServiceUnavailable, apierrors.IsServiceUnavailable},
		{http.StatusGatewayTimeout, apierrors.IsTimeout},
	} {
		for _, after := range []bool{false, true} {
			t.Run(http.StatusText(test.code)+map[bool]string{false: " before", true: " after"}[after], func(t *testing.T) {
				t.Parallel()
				a := setUp(t)
				rule := creating
				rule.Do, rule.AfterUpstream = faultproxy.Answer(test.code), after
				fault := a.proxy.Add(rule)
				if err := a.create(t.Context(), "one"); !test.is(err) {
					t.Errorf("the client sees %v", err)
				}
				if a.exists(t, "one") != after {
					t.Errorf("the object exists: %t, want %t", !after, after)
				}
				if fault.Hits() != 1 {
					t.Errorf("hits: got %d, want 1", fault.Hits())
				}
				// Times is 1: the next one works, or is refused by the server itself.
				if err := a.create(t.Context(), "one"); after != apierrors.IsAlreadyExists(err) || !after && err != nil {
					t.Errorf("the second attempt: %v", err)
				}
			})
		}
	}
}

func TestTooManyRequestsIsRetriedByTheClient(t *testing.T) {
	t.Parallel()
	a := setUp(t)
	rule := creating
	rule.Times, rule.Do = 3, faultproxy.TooManyRequests(0)
	fault := a.proxy.Add(rule)
	if err := a.create(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if fault.Hits() != 3 || len(a.proxy.Requests()) != 4 {
		t.Errorf("got %d hits and %d requests, want 3 and 4", fault.Hits(), len(a.proxy.Requests()))
	}
}

func TestRetryAfterReachesTheClient(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	proxy, err := faultproxy.Start(server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	proxy.Add(faultproxy.Rule{Do: faultproxy.TooManyRequests(7 * time.Second)})
	response, err := http.Get(proxy.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") != "7" || !strings.Contains(string(body), `"retryAfterSeconds":7`) {
		t.Errorf("got %s, Retry-After %q, %s", response.Status, response.Header.Get("Retry-After"), body)
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		t.Run(map[bool]string{false: "before", true: "after"}[after], func(t *testing.T) {
			t.Parallel()
			a := setUp(t)
			rule := creating
			rule.Do, rule.AfterUpstream = faultproxy.Cut(), after
			a.proxy.Add(rule)
			err := a.create(t.Context(), "one")
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("the client sees %v, want a connection that ends", err)
			}
			if a.exists(t, "one") != after {
				t.Errorf("the object exists: %t, want %t", !after, after)
			}
		})
	}
}

func TestStallUntilReleased(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		t.Run(map[bool]string{false: "before", true: "after"}[after], func(t *testing.T) {
			t.Parallel()
			a := setUp(t)
			rule := creating
			rule.Do, rule.AfterUpstream = faultproxy.Stall(), after
			fault := a.proxy.Add(rule)
			done := make(chan error, 1)
			go func() { done <- a.create(t.Context(), "one") }()
			<-fault.Reached()
			if a.exists(t, "one") != after {
				t.Errorf("while stalled, the object exists: %t, want %t", !after, after)
			}
			select {
			case err := <-done:
				t.Errorf("the client has an answer: %v", err)
			default:
			}
			fault.Release()
			if err := <-done; err != nil {
				t.Errorf("after the release: %v", err)
			}
			if !a.exists(t, "one") {
				t.Error("after the release the object is not there")
			}
		})
	}
}

func TestStallUntilTheClientGoes(t *testing.T) {
	t.Parallel()
	a := setUp(t)
	rule := creating
	rule.Do = faultproxy.Stall()
	fault := a.proxy.Add(rule)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.create(ctx, "one") }()
	<-fault.Reached()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the client sees %v", err)
	}
	// Close waits for the proxy's own side of the request.
	a.proxy.Close()
	if a.exists(t, "one") {
		t.Error("the request went on")
	}
}

func TestSkipAndRemove(t *testing.T) {
	t.Parallel()
	a := setUp(t)
	fault := a.proxy.Add(faultproxy.Rule{Method: http.MethodPost, Path: configMaps, Skip: 2, Do: faultproxy.Answer(http.StatusInternalServerError)})
	for _, step := range []struct {
		name  string
		works bool
	}{{"one", true}, {"two", true}, {"three", false}, {"four", false}} {
		if err := a.create(t.Context(), step.name); (err == nil) != step.works {
			t.Errorf("%s: got %v, want success: %t", step.name, err, step.works)
		}
	}
	fault.Remove()
	if err := a.create(t.Context(), "five"); err != nil {
		t.Errorf("after Remove: %v", err)
	}
}

func TestMatchSeesTheRequest(t *testing.T) {
	t.Parallel()
	a := setUp(t)
	a.proxy.Add(faultproxy.Rule{
		Match: func(r *http.Request) bool { return r.URL.Query().Get("dryRun") == "All" },
		Do:    faultproxy.Answer(http.StatusConflict),
	})
	maps := a.behind.CoreV1().ConfigMaps(a.ns)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "one"}}
	if _, err := maps.Create(t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); !apierrors.IsConflict(err) {
		t.Errorf("dry run: got %v, want a conflict", err)
	}
	if _, err := maps.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Errorf("create: %v", err)
	}
}

func TestWatchPassesThrough(t *testing.T) {
	t.Parallel()
	a := setUp(t)
	w, err := a.behind.CoreV1().ConfigMaps(a.ns).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if err := a.create(t.Context(), "seen"); err != nil {
		t.Fatal(err)
	}
	for e := range w.ResultChan() {
		if m, ok := e.Object.(*corev1.ConfigMap); ok && e.Type == watch.Added && m.Name == "seen" {
			return
		}
	}
	t.Error("the watch ended without the event")
}

func TestUpgradePassesThrough(t *testing.T) {
	t.Parallel()
	// An upgrade to a protocol that gives back what it gets.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+r.Header.Get("Upgrade")+"\r\n\r\n")
		_, _ = io.Copy(conn, rw)
	}))
	t.Cleanup(server.Close)
	proxy, err := faultproxy.Start(server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, proxy.URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", "echo")
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	conn, ok := response.Body.(io.ReadWriteCloser)
	if response.StatusCode != http.StatusSwitchingProtocols || !ok {
		t.Fatalf("got %s", response.Status)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "hello"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != "hello" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestRegistryThroughTheProxy(t *testing.T) {
	t.Parallel()
	proxy, err := faultproxy.Start("http://"+devtest.Registry(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	ref, err := name.ParseReference(proxy.Host() + "/app:v1")
	if err != nil {
		t.Fatal(err)
	}
	image, err := random.Image(1024, 2)
	if err != nil {
		t.Fatal(err)
	}
	fault := proxy.Add(faultproxy.Rule{Method: http.MethodPut, Path: regexp.MustCompile(`/manifests/`), Do: faultproxy.Answer(http.StatusForbidden)})
	err = remote.Write(ref, image, remote.WithContext(t.Context()))
	if refused := (*transport.Error)(nil); !errors.As(err, &refused) || refused.StatusCode != http.StatusForbidden {
		t.Errorf("push: got %v, want 403", err)
	}
	fault.Remove()
	if err := remote.Write(ref, image, remote.WithContext(t.Context())); err != nil {
		t.Errorf("push after Remove: %v", err)
	}
	if _, err := remote.Head(ref, remote.WithContext(t.Context())); err != nil {
		t.Errorf("the image is not there: %v", err)
	}
}

func TestServerThatIsAway(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	proxy, err := faultproxy.Start(server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	response, err := http.Get(proxy.URL())
	if err == nil {
		response.Body.Close()
		t.Errorf("got %s, want a connection that ends", response.Status)
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "127.0.0.1:5000", "ftp://host", "http://", "://"} {
		if p, err := faultproxy.Start(address, nil); err == nil {
			p.Close()
			t.Errorf("%q: no error", address)
		}
	}
}
