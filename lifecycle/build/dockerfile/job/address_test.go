package job

import (
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
)

func TestPulled(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ push, pull, reference, want string }{
		{"", "", "localhost:5000/dev/a", "localhost:5000/dev/a"},
		{"localhost:5000/dev", "r.svc:5000/dev", "localhost:5000/dev/a@x", "r.svc:5000/dev/a@x"},
		{"localhost:5000/dev", "r.svc:5000/dev", "localhost:5000/busybox@x", "r.svc:5000/busybox@x"},
		{"localhost:5000", "r.svc:5000", "localhost:5000/busybox@x", "r.svc:5000/busybox@x"},
		{"localhost:5000/dev", "r.svc:5000/dev", "localhost:50001/busybox@x", "localhost:50001/busybox@x"},
		{"localhost:5000/dev", "r.svc:5000/dev", "alpine@x", "alpine@x"},
		// What else is in a registry whose names differ is not known.
		{"localhost:5000/dev", "r.svc:5000/other", "localhost:5000/dev/a@x", "r.svc:5000/other/a@x"},
		{"localhost:5000/dev", "r.svc:5000/other", "localhost:5000/busybox@x", "localhost:5000/busybox@x"},
	} {
		b := &Backend{config: Config{Push: tc.push, Pull: tc.pull}}
		if got := b.pulled(tc.reference); got != tc.want {
			t.Errorf("%s, pushed to %q and pulled from %q: got %s, want %s", tc.reference, tc.push, tc.pull, got, tc.want)
		}
	}
}

// A base is pulled by the name that pods know its registry by, and is asked for by
// the one that the Dockerfile has.
func TestHere(t *testing.T) {
	t.Parallel()
	b := &Backend{config: Config{Push: "localhost:5000/dev", Pull: "r.svc:5000/dev"}}
	s, err := b.here(dockerfile.Solve{
		Repository: "localhost:5000/dev/web", Frontend: "localhost:5000/frontend@x",
		Options: map[string]string{"context:localhost:5000/busybox:1": "docker-image://localhost:5000/busybox@x", "target": "localhost:5000/dev"},
		Policy:  []byte(`{"rules":[{"selector":{"identifier":"docker-image://localhost:5000/busybox:1"},"updates":{"identifier":"docker-image://localhost:5000/busybox@x"}}]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.Repository != "r.svc:5000/dev/web" || s.Frontend != "r.svc:5000/frontend@x" || s.Options["target"] != "localhost:5000/dev" ||
		s.Options["context:localhost:5000/busybox:1"] != "docker-image://r.svc:5000/busybox@x" ||
		!strings.Contains(string(s.Policy), `"identifier":"docker-image://localhost:5000/busybox:1"`) ||
		!strings.Contains(string(s.Policy), `"identifier":"docker-image://r.svc:5000/busybox@x"`) {
		t.Errorf("got %+v, policy %s", s, s.Policy)
	}
}
