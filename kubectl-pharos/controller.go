package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lifecycle"
)

func newController(s *shared) *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Run the controller; it serves its health",
		Long: `Run the controller.

It serves /healthz and /readyz, and ends on SIGTERM. It asks nothing of the
cluster.`,
		Example: "  kubectl pharos controller --health-address :8081",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := (&net.ListenConfig{}).Listen(cmd.Context(), "tcp", address)
			if err != nil {
				return &lifecycle.Error{Op: "serve health", On: "at " + address, Err: err, Advice: "Choose another address with --health-address."}
			}
			linef(s.ErrOut, "serving health on %s", l.Addr())
			return serveHealth(cmd.Context(), l)
		},
	}
	cmd.Flags().StringVar(&address, "health-address", ":8081", "Where to serve /healthz and /readyz")
	return cmd
}

// serveHealth serves until ctx ends; requests under way get five seconds.
func serveHealth(ctx context.Context, l net.Listener) error {
	ok := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) }
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", ok)
	mux.HandleFunc("GET /readyz", ok)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := server.Shutdown(end)
	if serveErr := <-served; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	return err
}
