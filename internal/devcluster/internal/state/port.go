package state

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
)

// Ports are chosen below the range from which systems take the ports of outgoing connections (from 32768 on Linux,
// from 49152 elsewhere): otherwise any connection could take the port of a cluster that is just being restarted.
const (
	firstPort = 20000
	lastPort  = 29999
)

// Listen listens on the folder's port of the loopback address. The first time it chooses a free one; from then on the
// port is the folder's, and it is an error if it is taken.
func (f *Folder) Listen() (net.Listener, error) {
	var chosen net.Listener
	b, err := f.readOrMake(func() ([]byte, error) {
		var err error
		chosen, err = listenAnywhere()
		if err != nil {
			return nil, err
		}
		return []byte(strconv.Itoa(chosen.Addr().(*net.TCPAddr).Port) + "\n"), nil
	}, "port")
	if err != nil {
		if chosen != nil {
			err = errors.Join(err, chosen.Close())
		}
		return nil, fmt.Errorf("choose a port: %w", err)
	}
	if chosen != nil {
		return chosen, nil
	}
	port, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return nil, fmt.Errorf("read the port in %s: %w", f.Path("port"), err)
	}
	l, err := listen(port)
	if err != nil {
		return nil, fmt.Errorf("listen on this cluster's port again: %w", err)
	}
	return l, nil
}

func listenAnywhere() (net.Listener, error) {
	var err error
	for range 1000 {
		var l net.Listener
		if l, err = listen(firstPort + rand.IntN(lastPort-firstPort+1)); err == nil {
			return l, nil
		}
	}
	return nil, err
}

func listen(port int) (net.Listener, error) {
	return net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

// FreeAddresses returns loopback addresses, such as "127.0.0.1:23456", at which nobody listens at the moment: for a
// program that cannot be given a socket.
func FreeAddresses(n int) ([]string, error) {
	var addresses []string
	for range n {
		l, err := listenAnywhere()
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		// Not before all are chosen, so that they differ.
		defer l.Close()
		addresses = append(addresses, l.Addr().String())
	}
	return addresses, nil
}
