//go:build linux

package node

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/pharos-dev/pharos/internal/devcluster/internal/gitserver"
	"github.com/pharos-dev/pharos/internal/devcluster/internal/images"
	"github.com/pharos-dev/pharos/internal/devcluster/internal/state"
)

// services are what runs beside the cluster.
type services struct {
	// pause and busybox are references by digest.
	pause, busybox string
}

// serve starts the registry and the Git server, which end with the process, and fills the registry.
func serve(ctx context.Context, folder *state.Folder, registryListener, gitListener net.Listener, pause string) (s services, err error) {
	quiet := log.New(io.Discard, "", 0)
	git, err := gitserver.New(folder.Path("git"))
	if err != nil {
		return s, err
	}
	blobs := folder.Path("registry")
	if err := os.MkdirAll(blobs, 0o700); err != nil {
		return s, err
	}
	registry := registry.New(registry.Logger(quiet), registry.WithReferrersSupport(true),
		registry.WithBlobHandler(registry.NewDiskBlobHandler(blobs)))
	for l, handler := range map[net.Listener]http.Handler{registryListener: registry, gitListener: git} {
		server := &http.Server{Handler: handler, ErrorLog: quiet}
		go func() { _ = server.Serve(l) }()
	}
	if s.pause, err = images.Pause(ctx, registryAddress, pause); err != nil {
		return s, fmt.Errorf("make the pause image: %w", err)
	}
	if s.busybox, err = images.Busybox(ctx, registryAddress); err != nil {
		return s, fmt.Errorf("make the busybox image: %w", err)
	}
	return s, nil
}
