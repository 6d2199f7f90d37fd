//go:build linux

package node

import (
	"fmt"
	"net"
	"os"

	"github.com/vishvananda/netlink"

	"github.com/pharos-dev/pharos/internal/devcluster/internal/state"
)

// bridge is the link that has the node's address. It has no ports: a bridge, unlike a dummy link, is there on every
// machine that can run pods.
const bridge = "node0"

// network brings up the loopback and the node's own link, and forwards what pods send.
func network() error {
	fail := func(err error) error { return fmt.Errorf("make the node's network: %w", err) }
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fail(err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return fail(err)
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name = bridge
	link := &netlink.Bridge{LinkAttrs: attributes}
	if err := netlink.LinkAdd(link); err != nil {
		return fail(err)
	}
	address := &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(state.NodeAddress), Mask: net.CIDRMask(state.NodePrefix, 32)}}
	if err := netlink.AddrAdd(link, address); err != nil {
		return fail(err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fail(err)
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		return fail(err)
	}
	return nil
}
