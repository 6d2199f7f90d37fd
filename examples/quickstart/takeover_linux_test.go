package main

import (
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/examples/quickstart/shop"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// TestTakeoverStory tells the story of a takeover on a real node.
func TestTakeoverStory(t *testing.T) {
	t.Parallel()
	n := devtest.Node(t)
	p := &place{dir: t.TempDir(), cluster: n.Cluster, shop: shop.Options{Namespace: "shop", Receipts: "pharos", Local: closedPort(t), Insecure: true}}
	t.Cleanup(func() {
		if err := p.close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if err := p.takeNamespaces(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.shop.Push, p.shop.Pull = n.PushRegistry()+"/"+p.shop.Namespace, n.PullRegistry()+"/"+p.shop.Namespace
	var out strings.Builder
	s, err := p.newStory(t.Context(), &narrator{w: &out})
	if err != nil {
		t.Fatal(err)
	}
	told, err := s.tell(t.Context(), s.takeoverChapters())
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if len(told) != 4 || !told[3].status.IsLive() {
		t.Errorf("%d chapters were told, want 4, of which the last ends with a live target\n%s", len(told), out.String())
	}
}
