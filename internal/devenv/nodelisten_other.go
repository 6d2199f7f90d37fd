//go:build !linux

package devenv

import (
	"errors"
	"net"
)

// Listen listens on a free port of the node's address. It fails: there is no node here.
func (n *Node) Listen() (net.Listener, error) { return nil, errors.New("a node runs on Linux only") }
