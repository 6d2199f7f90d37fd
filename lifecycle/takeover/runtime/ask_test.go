//go:build unix

package runtime_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
)

// Who restarts a program is answered when the new process listens, or by what keeps it
// from being built, and what ran before goes on.
func TestRestartWaits(t *testing.T) {
	t.Parallel()
	root, port := goModule(t), freePort(t)
	c := config(t, root, "**")
	c.Go = &catalogue.GoBuild{Package: "cmd/web"}
	c.Env = append(c.Env, fmt.Sprintf("PORT=%d", port))
	c.Ports = []runtime.Port{{Container: 8080, Local: port}}
	r := start(t, c)
	r.until(0, runtime.EventReady)
	must(t, r.Restart(t.Context()))
	s := r.State()
	if s.Generation != 2 || s.Phase != runtime.Serving {
		t.Errorf("restarted it is %+v", s)
	}

	write(t, root, "cmd/web/version.go", "package main\n\nvar version = other\n")
	r.until(0, runtime.EventBuildFailed)
	unbuilt, ok := errors.AsType[*runtime.BuildError](r.Restart(t.Context()))
	if !ok || len(unbuilt.Problems) == 0 || unbuilt.Problems[0].File != "cmd/web/version.go" || unbuilt.PID != s.PID {
		t.Errorf("a restart of what cannot be built: %+v", unbuilt)
	}
	if now := r.State(); now.PID != s.PID || now.Phase != runtime.Serving {
		t.Errorf("it was %+v, and is %+v", s, now)
	}
	write(t, root, "cmd/web/version.go", goVersion(1))
	must(t, r.Restart(t.Context()))
	if got := get(t, client(r, 8080), "/"); got != version(1) {
		t.Errorf("the process answers %q", got)
	}
}
