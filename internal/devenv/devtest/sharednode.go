package devtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/devenv"
)

// unused is how long a node is kept that no test uses: where one test after the other needs it, the next one comes at once.
const unused = 2 * time.Second

// theNode is the node that the tests of this process share.
var theNode sharedNode

// sharedNode is a node that is started for the first of its users and stopped after the last.
type sharedNode struct {
	mu     sync.Mutex
	node   *devenv.Node
	argoCD *devenv.ArgoCD // beside the node, once a test has asked for it
	users  int            // tests that use it now
	uses   int            // how often it was used so far
	err    error          // of a start or a stop, which are not tried again
}

// use returns the node, which is there until the end of the test.
func (s *sharedNode) use(t testing.TB) (*devenv.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.node == nil && s.err == nil {
		s.node, s.err = devenv.StartNode(context.Background(), devenv.NodeOptions{Output: os.Stderr})
	}
	if s.err != nil {
		return nil, s.err
	}
	s.users++
	s.uses++
	t.Cleanup(s.release)
	return s.node, nil
}

// useArgoCD returns the Argo CD beside the node.
func (s *sharedNode) useArgoCD(t testing.TB) (*devenv.ArgoCD, error) {
	n, err := s.use(t)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.argoCD == nil {
		s.argoCD, err = devenv.StartArgoCD(context.Background(), n.Cluster, devenv.ArgoCDOptions{Output: os.Stderr})
	}
	return s.argoCD, err
}

func (s *sharedNode) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users == 0 {
		uses := s.uses
		time.AfterFunc(unused, func() { s.stop(uses) })
	}
}

// stop stops the node, unless it was used again.
func (s *sharedNode) stop(uses int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uses != uses {
		return
	}
	if s.argoCD != nil {
		s.err = s.argoCD.Stop()
	}
	if s.err = errors.Join(s.err, s.node.Stop()); s.err != nil {
		s.err = fmt.Errorf("stop the node that no test needed any more: %w", s.err)
		fmt.Fprintln(os.Stderr, s.err)
	}
	s.node, s.argoCD = nil, nil
}
