//go:build linux

package node

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"

	"github.com/pharos-dev/pharos/internal/devcluster/internal/controlplane"
	"github.com/pharos-dev/pharos/internal/devcluster/internal/listeners"
	"github.com/pharos-dev/pharos/internal/devcluster/internal/state"
)

// Run runs the cluster in the node's namespaces until a part of it fails. It prints a [Ready] as JSON to out when all
// is ready, and from then on obeys each [Command] in a line of in and prints an [Answer].
func Run(ctx context.Context, told string, in io.Reader, out io.Writer) error {
	var inside inside
	if err := json.Unmarshal([]byte(told), &inside); err != nil {
		return err
	}
	folder := state.Held(inside.State)
	logFile, err := folder.LogFile("devcluster.log")
	if err != nil {
		return err
	}
	defer logFile.Close()
	if err := debug.SetCrashOutput(logFile, debug.CrashOptions{}); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(logFile, nil))
	err = run(ctx, folder, inside.Programs, log, logFile, in, out)
	if err != nil {
		log.Error("the cluster failed", "err", err)
	}
	return err
}

func run(ctx context.Context, folder *state.Folder, programs map[string]string, log *slog.Logger, logFile io.Writer, in io.Reader, out io.Writer) error {
	api, registry, git, err := takeSockets()
	if err != nil {
		return err
	}
	s, err := serve(ctx, folder, registry, git, programs["pause"])
	if err != nil {
		return err
	}
	n := &parts{folder: folder, programs: programs, pause: s.pause}
	if err := n.writeConfigs(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	commands := &obeyer{kubelet: n.kubelet(), serves: func(ctx context.Context) error { return controlplane.AwaitAPIServer(ctx, folder) }}
	return controlplane.Run(ctx, controlplane.Config{
		Folder:  folder,
		Log:     log,
		LogFile: logFile,
		Node: &controlplane.Node{
			Name:   state.NodeName,
			Server: api.address,
			APIServer: func(etcd string) controlplane.Part {
				commands.apiServer = api.server(folder, self, etcd)
				return commands.apiServer.part()
			},
			Early:      []controlplane.Part{n.containerd().part()},
			Parts:      []controlplane.Part{commands.kubelet.part(), n.kubeProxy().part(), n.coreDNS().part()},
			Ready:      func(ctx context.Context) (bool, error) { return answersOK(ctx, dnsHealth) },
			ProbeImage: s.pause,
		},
		Ready: func(server string) {
			// The error of a reader that is gone is noticed where it matters: this process ends with it.
			_ = json.NewEncoder(out).Encode(Ready{
				Server:       server,
				Name:         state.NodeName,
				PullRegistry: registryAddress,
				GitURL:       "http://" + gitAddress,
				Busybox:      s.busybox,
			})
			go commands.obey(ctx, in, out)
		},
	})
}

// takeSockets takes the sockets that Keep has opened on the machine's loopback, and adds those in the node's network. The API
// server's loopback address here is the same as that on the machine.
func takeSockets() (api apiSockets, registry, git net.Listener, err error) {
	var machine [inherited]net.Listener
	for i := range machine {
		f := os.NewFile(uintptr(3+i), "socket")
		if machine[i], err = net.FileListener(f); err != nil {
			return api, nil, nil, fmt.Errorf("take the sockets on the machine's loopback: %w", err)
		}
		if err := f.Close(); err != nil {
			return api, nil, nil, err
		}
	}
	port := machine[0].Addr().(*net.TCPAddr).Port
	var own [4]net.Listener
	for i, address := range []string{
		fmt.Sprintf("127.0.0.1:%d", port),
		fmt.Sprintf("%s:%d", state.NodeAddress, port),
		registryAddress,
		gitAddress,
	} {
		if own[i], err = net.Listen("tcp4", address); err != nil {
			return api, nil, nil, err
		}
	}
	if api, err = newAPISockets(own[0], own[1], machine[0]); err != nil {
		return api, nil, nil, err
	}
	return api, listeners.Join(own[2], machine[1]), listeners.Join(own[3], machine[2]), nil
}
