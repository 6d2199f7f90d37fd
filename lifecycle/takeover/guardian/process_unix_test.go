//go:build unix

package guardian_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/killtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/takeovertest"
)

// role is what another process of the test is: a guardian, or a terminal that starts one
// and waits.
type role struct {
	Terminal, Idle                     bool
	Ask                                string
	Kubeconfig, Dir, Namespace, Folder string
}

func TestMain(m *testing.M) {
	killtest.Main(m, func(ctx context.Context, r role) error { return r.live(ctx) })
}

// live is what such a process does.
func (r role) live(ctx context.Context) error {
	switch {
	case r.Terminal:
		r.Terminal = false
		if _, err := r.start(ctx); err != nil {
			return err
		}
		fmt.Println("started")
		_, err := io.Copy(io.Discard, os.Stdin) // until it is killed
		return err
	case r.Ask != "":
		return r.askStatus()
	case r.Idle:
		return r.idle(ctx)
	}
	return r.guard(ctx)
}

// start starts the guardian.
func (r role) start(ctx context.Context) (*guardian.Client, error) {
	env, err := killtest.Environ(r)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return guardian.Start(ctx, guardian.StartConfig{Folder: r.Folder, Program: program, Env: env})
}

// guard is a guardian's process.
func (r role) guard(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", r.Kubeconfig)
	if err != nil {
		return err
	}
	s, err := guardian.Listen(guardian.Config{Folder: r.Folder, New: func(events takeover.Sink, output func(string) io.Writer) (*takeover.Session, error) {
		c, err := takeovertest.Config(ctx, r.Dir, r.Namespace, config, lease.Timing{})
		if err != nil {
			return nil, err
		}
		fmt.Fprint(output("api"), "first line\nsecond")
		fmt.Fprint(output("mail"), strings.Repeat("x", 9000)+"\r\n")
		c.Folder, c.Events = r.Folder, events
		return takeover.New(c)
	}})
	if err != nil {
		return err
	}
	return s.Serve(ctx)
}

// guarded is a shop with an edit, and where its guardian is.
func guarded(t *testing.T) (*takeovertest.Shop, role) {
	t.Helper()
	s := takeovertest.NewShop(t, devtest.Cluster(t))
	s.Write(map[string]string{"api/main.txt": "api 2\n"})
	r := role{Kubeconfig: devtest.Kubeconfig(t, s.REST), Dir: s.Dir, Namespace: s.Namespace, Folder: s.Config().Folder}
	t.Cleanup(func() {
		if c, err := guardian.Connect(context.Background(), r.Folder); err == nil {
			_ = c.Stop(context.Background())
		}
	})
	return s, r
}

// serves waits until the workload is served.
func serves(t *testing.T, c *guardian.Client) {
	t.Helper()
	served := errors.New("it is served")
	line := definition(t, "line")
	err := c.Attach(t.Context(), nil, func(l guardian.Line) error {
		conforms(t, line, l)
		if l.Event != nil && l.Event.Type == takeover.EventServing {
			return served
		}
		if l.Event != nil && l.Event.Type == takeover.EventFinished {
			return fmt.Errorf("the session ended: %s", l.Event.Error)
		}
		return nil
	})
	if !errors.Is(err, served) {
		t.Fatalf("it is not served: %v", err)
	}
}
