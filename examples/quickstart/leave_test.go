package main

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
	"github.com/pharos-dev/pharos/lifecycle/takeover/workstation"
)

// What was taken over from the shop's checkout is handed back when the story's place is
// left, before that is taken down: nothing of it runs on this machine then.
func TestTakeoverIsHandedBackAtTheEnd(t *testing.T) {
	t.Parallel()
	p := openPlace(t)
	p.shop.Local = closedPort(t)
	var out strings.Builder
	s, err := p.newStory(t.Context(), &narrator{w: &out})
	if err != nil {
		t.Fatal(err)
	}
	told := &taken{story: s}
	if _, err := s.tell(t.Context(), s.takeoverChapters()[:1]); err != nil {
		t.Fatal(err)
	}
	if err := told.lead(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, err := told.spec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := told.edit("lamps: 12", "lamps: 11"); err != nil {
		t.Fatal(err)
	}
	diverted, ended := guardOf(t, s)
	select {
	case <-diverted:
	case err := <-ended:
		t.Fatalf("the takeover ended with %v", err)
	}
	listens := func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", p.shop.Local))
		if err == nil {
			c.Close()
		}
		return err == nil
	}
	if !listens() {
		t.Fatal("nothing runs on this machine")
	}
	if err := s.handBackLeft(t.Context()); err != nil {
		t.Error(err)
	}
	if after, err := told.spec(t.Context()); err != nil || after != before {
		t.Errorf("the Deployment was\n%s\nand is\n%s, %v", before, after, err)
	}
	if listens() {
		t.Error("its process still runs on this machine")
	}
	if err := <-ended; err != nil {
		t.Errorf("the takeover ended with %v", err)
	}
	// There is nothing any more, which is no error.
	if err := p.close(t.Context()); err != nil {
		t.Error(err)
	}
}

// guardOf takes the edits of a story over, as the plugin does it. diverted is closed when
// the first workload has the agent.
func guardOf(t *testing.T, s *story) (diverted <-chan struct{}, ended <-chan error) {
	t.Helper()
	d, err := s.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	repo, err := source.Open(s.shop.Dir())
	if err != nil {
		t.Fatal(err)
	}
	first := make(chan struct{})
	server, err := guardian.Listen(guardian.Config{Folder: workstation.Folder(repo), New: func(events takeover.Sink, output func(string) io.Writer) (*takeover.Session, error) {
		c, err := workstation.Takeover(workstation.TakeoverConfig{Target: d.target, Options: d.options, Repository: repo, Output: output})
		if err != nil {
			return nil, err
		}
		c.Events = func(e takeover.Event) {
			events(e)
			if e.Type == takeover.EventDiverted {
				close(first)
			}
		}
		return takeover.New(c)
	}})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(t.Context()) }()
	return first, served
}

// closedPort is a port of this machine at which nothing listens.
func closedPort(t *testing.T) uint16 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return uint16(l.Addr().(*net.TCPAddr).Port)
}
