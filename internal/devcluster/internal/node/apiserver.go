//go:build linux

package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/pharos-dev/pharos/internal/devcluster/internal/controlplane"
	"github.com/pharos-dev/pharos/internal/devcluster/internal/listeners"
	"github.com/pharos-dev/pharos/internal/devcluster/internal/state"
)

// APIServer is the API server's process, which serves at the sockets that it inherits, with that folder of the cluster's
// state and that address of etcd.
func APIServer(ctx context.Context, folder, etcd string) error {
	var sockets []net.Listener
	for i := range apiSocketCount {
		f := os.NewFile(uintptr(3+i), "socket")
		l, err := net.FileListener(f)
		if err != nil {
			return fmt.Errorf("take the API server's sockets: %w", err)
		}
		if err := f.Close(); err != nil {
			return err
		}
		sockets = append(sockets, l)
	}
	// Its standard error is its log.
	return controlplane.ServeAPI(ctx, controlplane.APIServer{
		Folder:   state.Held(folder),
		Etcd:     etcd,
		Listener: listeners.Join(sockets...),
		Address:  state.NodeAddress,
	}, os.Stderr)
}

// apiSocketCount is how many sockets the API server has: on the loopback and the address of the node, and on the machine's
// loopback.
const apiSocketCount = 3

// apiSockets are the API server's. They are open for as long as the cluster is, so that nobody else gets its port.
type apiSockets struct {
	// address is the first one's.
	address string
	files   []*os.File
}

func newAPISockets(sockets ...net.Listener) (s apiSockets, err error) {
	s.address = sockets[0].Addr().String()
	for _, l := range sockets {
		// A duplicate, which stays open.
		f, err := l.(*net.TCPListener).File()
		if err != nil {
			return s, err
		}
		s.files = append(s.files, f)
		if err := l.Close(); err != nil {
			return s, err
		}
	}
	return s, nil
}

// refuse has the sockets refuse connections, as those of a process that has ended do, and listen accept them again.
func (s apiSockets) refuse() (err error) {
	for _, f := range s.files {
		err = errors.Join(err, unix.Shutdown(int(f.Fd()), unix.SHUT_RDWR))
	}
	return err
}

func (s apiSockets) listen() (err error) {
	for _, f := range s.files {
		err = errors.Join(err, unix.Listen(int(f.Fd()), unix.SOMAXCONN))
	}
	return err
}

// server is this program as the API server that serves there.
func (s apiSockets) server(folder *state.Folder, self, etcd string) *program {
	return &program{
		name: "kube-apiserver", path: self, args: []string{APIServerCommand, folder.Path(), etcd}, env: os.Environ(), folder: folder,
		files:  s.files,
		before: func(context.Context) error { return s.listen() },
		after:  s.refuse,
	}
}
