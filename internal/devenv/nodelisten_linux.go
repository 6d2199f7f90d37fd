package devenv

import (
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
	type result struct {
		listener net.Listener
		err      error
	}
	got := make(chan result)
	go func() {
		// Never unlocked: the thread, which is in the node's network, ends with this goroutine.
		runtime.LockOSThread()
		l, err := listenInNetworkOf(n.InitPID(), host)
		got <- result{l, err}
	}()
	r := <-got
	if r.err != nil {
		return nil, fmt.Errorf("listen on the node: %w", r.err)
	}
	return r.listener, nil
}

// listenInNetworkOf moves the calling thread into the network of a process. A socket stays in the network where it was made.
func listenInNetworkOf(pid int, host string) (net.Listener, error) {
	ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return nil, err
	}
	defer ns.Close()
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, err
	}
	return net.Listen("tcp4", net.JoinHostPort(host, "0"))
}
