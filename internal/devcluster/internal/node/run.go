//go:build linux

package node

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/pharos-dev/pharos/internal/devcluster/internal/controlplane"
	"github.com/pharos-dev/pharos/internal/devcluster/internal/listeners"
	"github.com/pharos-dev/pharos/internal/devcluster/internal/state"
)

// Run runs the cluster in the node's namespaces until a part of it fails. It prints a [Ready] as JSON to out when all
// is ready.
func Run(ctx context.Context, told string, out io.Writer) error {
	var in inside
	if err := json.Unmarshal([]byte(told), &in); err != nil {
		return err
	}
	folder := state.Held(in.State)
	logFile, err := folder.LogFile("devcluster.log")
	if err != nil {
		return err
	}
	defer logFile.Close()
	if err := debug.SetCrashOutput(logFile, debug.CrashOptions{}); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(logFile, nil))
	err = run(ctx, folder, in.Programs, log, logFile, out)
	if err != nil {
		log.Error("the cluster failed", "err", err)
	}
	return err
}

func run(ctx context.Context, folder *state.Folder, programs map[string]string, log *slog.Logger, logFile, out io.Writer) error {
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
	return controlplane.Run(ctx, controlplane.Config{
		Folder:  folder,
		Log:     log,
		LogFile: logFile,
		Node: &controlplane.Node{
			Name:       state.NodeName,
			Address:    state.NodeAddress,
			Listener:   api,
			Early:      []controlplane.Part{n.containerd()},
			Parts:      []controlplane.Part{n.kubelet(), n.kubeProxy(), n.coreDNS()},
			Ready:      dnsReady,
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
		},
	})
}

// takeSockets takes the sockets that Keep has opened on the machine's loopback, and adds those in the node's network. The API
// server's is first its loopback address here, which is the same as that on the machine.
func takeSockets() (api, registry, git net.Listener, err error) {
	var machine [inherited]net.Listener
	for i := range machine {
		f := os.NewFile(uintptr(3+i), "socket")
		if machine[i], err = net.FileListener(f); err != nil {
			return nil, nil, nil, fmt.Errorf("take the sockets on the machine's loopback: %w", err)
		}
		if err := f.Close(); err != nil {
			return nil, nil, nil, err
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
			return nil, nil, nil, err
		}
	}
	return listeners.Join(own[0], own[1], machine[0]), listeners.Join(own[2], machine[1]), listeners.Join(own[3], machine[2]), nil
}

// dnsReady asks CoreDNS whether it knows the cluster's Services.
func dnsReady(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+dnsReadyAddress+"/ready", nil)
	if err != nil {
		return false, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		// It does not listen yet.
		return false, nil
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK, nil
}
