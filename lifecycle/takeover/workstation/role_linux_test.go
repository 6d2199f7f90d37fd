package workstation_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/killtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
	"github.com/pharos-dev/pharos/lifecycle/takeover/workstation"
)

// role is what another process of the test is: a guardian, or a terminal that watches
// one.
type role struct {
	Kubeconfig, Dir, Memory string
	Terminal                bool
	// Die is the step of the journal at which a guardian kills itself.
	Die journal.Step
	// Borrow are the times of its lease; those of package lease are the default.
	Borrow lease.Timing
}

func TestMain(m *testing.M) {
	killtest.Main(m, func(ctx context.Context, r role) error { return r.play(ctx) })
}

// config is that of a session. What its processes print is discarded.
func (r role) config(ctx context.Context, output func(string) io.Writer) (takeover.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", r.Kubeconfig)
	if err != nil {
		return takeover.Config{}, err
	}
	repo, err := source.Open(r.Dir)
	if err != nil {
		return takeover.Config{}, err
	}
	head, err := repo.Commit(ctx, "")
	if err != nil {
		return takeover.Config{}, err
	}
	targets, err := standard.ReadTargets(ctx, head.Tree)
	if err != nil {
		return takeover.Config{}, err
	}
	options := standard.Options{REST: config, Actor: "ann@laptop", Env: os.Environ(), Checkout: r.Dir}
	if r.Borrow != (lease.Timing{}) {
		options.Lease = lease.Config{Borrow: r.Borrow, Margin: 2 * time.Second, Grace: time.Second}
	}
	return workstation.Takeover(workstation.TakeoverConfig{Target: targets[0], Repository: repo, Memory: []string{r.Memory}, Options: options, Output: output})
}

func (r role) play(ctx context.Context) error {
	repo, err := source.Open(r.Dir)
	if err != nil {
		return err
	}
	folder := workstation.Folder(repo)
	if r.Terminal {
		client, err := guardian.Connect(ctx, folder)
		if err != nil {
			return err
		}
		return client.Attach(ctx, nil, func(l guardian.Line) error {
			_, err := fmt.Println(l.Type)
			return err
		})
	}
	server, err := guardian.Listen(guardian.Config{Folder: folder, New: func(events takeover.Sink, output func(string) io.Writer) (*takeover.Session, error) {
		c, err := r.config(ctx, output)
		if err != nil {
			return nil, err
		}
		var s *takeover.Session
		c.Events = func(e takeover.Event) {
			if e.Type == takeover.EventStep && e.Step == r.Die {
				killtest.Die()
			}
			if events(e); e.Type == takeover.EventServing && r.Die != "" {
				go func() { _ = s.HandBack(ctx) }()
			}
		}
		s, err = takeover.New(c)
		return s, err
	}})
	if err != nil {
		return err
	}
	return server.Serve(ctx)
}
