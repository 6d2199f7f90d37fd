package sweep

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	discoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
)

// fake is an API server whose objects are all past their end, and that takes as long as
// a test wants, by the clock of its bubble. A real one knows no such clock.
type fake struct {
	// resources are those of the core group, in namespaces; their lists are empty.
	resources []string
	// slow has a request wait; its error is the connection's.
	slow func(*http.Request) error
	// log is the Ender's; nil discards.
	log *slog.Logger
	// due is when all objects end; the beginning of the bubble if it is zero.
	due time.Time

	mu             sync.Mutex
	lists, highest int // at once
}

// RoundTrip implements http.RoundTripper.
func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	last := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	listed := strings.HasPrefix(r.URL.Path, "/api/v1/namespaces/") && r.Method == http.MethodGet && strings.Count(r.URL.Path, "/") == 5
	if listed {
		f.count(1)
		defer f.count(-1)
	}
	if f.slow != nil {
		if err := f.slow(r); err != nil {
			return nil, err
		}
	}
	switch {
	case r.URL.Path == "/readyz":
		return f.answer(http.StatusOK, "ok")
	case r.URL.Path == "/api", r.URL.Path == "/apis":
		return f.answer(http.StatusOK, f.discovery(r.URL.Path == "/api"))
	case r.Method == http.MethodDelete:
		return f.answer(http.StatusOK, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess})
	case r.Method == http.MethodPost:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		return f.answer(http.StatusCreated, json.RawMessage(body))
	case listed:
		return f.answer(http.StatusOK, metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"}})
	}
	return f.answer(http.StatusOK, metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"},
		ObjectMeta: metav1.ObjectMeta{Name: last, UID: types.UID(last), ResourceVersion: "1", CreationTimestamp: metav1.Time{Time: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)},
			Labels: map[string]string{keys.Intent: "transient"}, Annotations: map[string]string{keys.ExpiresAt: reaper.FormatTime(cmp.Or(f.due, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)))}},
	})
}

func (f *fake) count(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lists += n
	f.highest = max(f.highest, f.lists)
}

func (f *fake) discovery(core bool) discoveryv2.APIGroupDiscoveryList {
	list := discoveryv2.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"}}
	if !core {
		list.Items = []discoveryv2.APIGroupDiscovery{{ObjectMeta: metav1.ObjectMeta{Name: "apps"}}}
		return list
	}
	v := discoveryv2.APIVersionDiscovery{Version: "v1", Freshness: discoveryv2.DiscoveryFreshnessCurrent}
	for _, name := range f.resources {
		v.Resources = append(v.Resources, discoveryv2.APIResourceDiscovery{
			Resource: name, ResponseKind: &metav1.GroupVersionKind{Version: "v1", Kind: name}, Scope: discoveryv2.ScopeNamespace,
			Verbs: []string{"list", "watch", "get", "delete"},
		})
	}
	list.Items = []discoveryv2.APIGroupDiscovery{{Versions: []discoveryv2.APIVersionDiscovery{v}}}
	return list
}

func (f *fake) answer(code int, body any) (*http.Response, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: code, Body: io.NopCloser(bytes.NewReader(data)), Header: http.Header{
		"Content-Type": {"application/json"}, "Date": {time.Now().UTC().Format(http.TimeFormat)},
	}}, nil
}

// hang waits until the client gives up.
func hang(r *http.Request) error {
	<-r.Context().Done()
	return r.Context().Err()
}

// ender is an Ender of the server.
func (f *fake) ender(t *testing.T) *Ender {
	t.Helper()
	e, err := New(Config{REST: &rest.Config{Host: "http://api.example", Transport: f}, DeletesPerSecond: -1, Events: true, Log: f.log})
	if err != nil {
		t.Fatal(err)
	}
	return e
}
