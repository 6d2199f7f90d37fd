package devenv

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Listen listens on a free port of the node's address, for what runs in this process to be reached by pods, such as a
// server that fails on demand. The caller closes it.
func (n *Node) Listen() (net.Listener, error) {
	host, _, err := net.SplitHostPort(n.PullRegistry())
	if err != nil {
		return nil, fmt.Errorf("listen on the node: %w", err)
	}
	l, err := inNetworkOf(n.InitPID(), func() (net.Listener, error) { return net.Listen("tcp4", net.JoinHostPort(host, "0")) })
	if err != nil {
		return nil, fmt.Errorf("listen on the node: %w", err)
	}
	return l, nil
}

// Dial connects from the node to an IP address and port, such as those of a pod.
func (n *Node) Dial(ctx context.Context, address string) (net.Conn, error) {
	c, err := inNetworkOf(n.InitPID(), func() (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", address) })
	if err != nil {
		return nil, fmt.Errorf("dial from the node: %w", err)
	}
	return c, nil
}

// inNetworkOf makes a socket in the network of a process, where it stays.
func inNetworkOf[T any](pid int, f func() (T, error)) (T, error) {
	type result struct {
		made T
		err  error
	}
	got := make(chan result)
	go func() {
		// Never unlocked: the thread, which is in the node's network, ends with this goroutine.
		runtime.LockOSThread()
		var r result
		if r.err = enterNetworkOf(pid); r.err == nil {
			r.made, r.err = f()
		}
		got <- r
	}()
	r := <-got
	return r.made, r.err
}

// enterNetworkOf moves the calling thread into the network of a process.
func enterNetworkOf(pid int) error {
	ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return err
	}
	defer ns.Close()
	return unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET)
}
