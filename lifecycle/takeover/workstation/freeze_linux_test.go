package workstation_test

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// A takeover's process that stands still, as that of a laptop that sleeps: callers wait,
// after 20 seconds they are refused and told what to do, and when it goes on they are
// served again.
func TestNodeGuardianFrozen(t *testing.T) {
	t.Parallel()
	n := devtest.Node(t)
	k := newKilling(t)
	client := k.guardian(k.role)
	k.rolledOut()
	k.answers("v2 workstation false ")
	caller := k.caller(n, 0)

	if err := syscall.Kill(client.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(client.PID(), syscall.SIGCONT) })
	begun := time.Now()
	status, answer, err := caller.get(t.Context())
	waited := time.Since(begun)
	if err != nil || status != http.StatusServiceUnavailable || !strings.Contains(answer, "was taken over by ann@laptop") || !strings.Contains(answer, "kubectl pharos handback") {
		t.Errorf("answered %d %q, %v", status, answer, err)
	}
	if waited < waitsFor {
		t.Errorf("refused after %s", waited)
	}
	t.Logf("refused after %s", waited)

	if err := syscall.Kill(client.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	k.until("callers are served again", func() bool {
		status, answer, err := caller.get(t.Context())
		return err == nil && status == http.StatusOK && strings.HasPrefix(answer, "v2 workstation ")
	})
	if err := client.HandBack(t.Context()); err != nil {
		t.Errorf("hand back: %v", err)
	}
	k.whole()
}
