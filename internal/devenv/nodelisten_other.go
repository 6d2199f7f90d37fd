//go:build !linux

package devenv

import (
	"context"
	"errors"
	"net"
)

var errNoNode = errors.New("a node runs on Linux only")

// Listen listens on a free port of the node's address. It fails: there is no node here.
func (n *Node) Listen() (net.Listener, error) { return nil, errNoNode }

// Dial connects from the node to an address. It fails: there is no node here.
func (n *Node) Dial(context.Context, string) (net.Conn, error) { return nil, errNoNode }
