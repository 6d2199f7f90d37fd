package job_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
)

// A build that takes more of the node's disk than its pod may have is evicted by the
// kubelet, and that is no fault of the commit, and none of its neighbours'.
func TestNodeEvicts(t *testing.T) {
	t.Parallel()
	n := onNode(t)
	devtest.NeedContainerd(t, n.real.Config())
	base, digest := n.base()
	fill := n.request(web, map[string]string{base: digest}, map[string]string{
		"web/Dockerfile": "FROM " + base + "\nCOPY web/a /\nRUN dd if=/dev/zero of=/big bs=1M count=96 && exec tail -f /dev/null\n", "web/a": "a"})
	c := n.config()
	c.Deadline = 3 * time.Minute
	c.Limits = map[string]string{"ephemeral-storage": "32Mi"}
	neighbour := make(chan error, 1)
	go func() {
		_, err := n.builder(n.config()).Build(t.Context(), n.scratch())
		neighbour <- err
	}()
	_, err := n.builder(c).Build(t.Context(), fill)
	failed, ok := errors.AsType[*lifecycle.Error](err)
	if !ok || !strings.Contains(err.Error(), "Evicted: ") || !strings.Contains(err.Error(), "ephemeral") || !strings.Contains(failed.Advice, "buildkit.job.resources.limits") {
		t.Errorf("got %v, want that it was evicted, and what to do", err)
	}
	if errors.Is(err, lifecycle.ErrSource) {
		t.Errorf("the commit is blamed: %v", err)
	}
	if err := <-neighbour; err != nil {
		t.Errorf("its neighbour: %v", err)
	}
}
