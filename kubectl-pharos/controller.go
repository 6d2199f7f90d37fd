package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/controller"
)

type controllerOptions struct {
	*shared
	address string
	lease   string
}

func newController(s *shared) *cobra.Command {
	o := &controllerOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Run the controller: health, metrics and leader election",
		Long: `Run the controller.

It serves /healthz, /readyz and /metrics, elects one leader among its replicas by the
Lease of --leader-lease, and ends on SIGTERM, giving the leadership back. Without
--leader-lease it asks nothing of the cluster. kubectl pharos deploy
--controller-image installs it, with the rights that it uses.`,
		Example: `  kubectl pharos controller --health-address :8081

  # With leader election
  kubectl pharos controller --leader-lease pharos/pharos-devbox.controller`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&o.address, "health-address", ":8081", "Where to serve /healthz, /readyz and /metrics")
	f.StringVar(&o.lease, "leader-lease", "", "The Lease by which replicas elect their leader, as NAMESPACE/NAME. The default is to elect none")
	return cmd
}

func (o *controllerOptions) run(ctx context.Context) error {
	config := controller.Config{Version: version().Version, Log: slog.New(slog.NewTextHandler(o.ErrOut, nil))}
	if o.lease != "" {
		m, err := o.leaders()
		if err != nil {
			return err
		}
		config.Lease, config.Identity = m, cmp.Or(hostname(), "unknown")
	}
	c, err := controller.New(config)
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.address)
	if err != nil {
		return &lifecycle.Error{Op: "serve health", On: "at " + o.address, Err: err, Advice: "Choose another address with --health-address."}
	}
	linef(o.ErrOut, "serving health on %s", l.Addr())
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	led := make(chan error, 1)
	go func() {
		defer stop() // what is served ends with it
		led <- c.Run(ctx)
	}()
	err = serve(ctx, l, c.Handler())
	stop()
	return errors.Join(err, <-led)
}

// hostname is that of the pod.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}

// leaders is the lease by which the leader is elected.
func (o *controllerOptions) leaders() (*lease.Manager, error) {
	namespace, name, ok := strings.Cut(o.lease, string(types.Separator))
	if !ok || namespace == "" || name == "" {
		return nil, fmt.Errorf("--leader-lease is %q, and must be NAMESPACE/NAME", o.lease)
	}
	cfg, err := o.config.ToRESTConfig()
	if err == nil && o.unconfigured(cfg) {
		err = errors.New("there is none")
	}
	if err != nil {
		return nil, &lifecycle.Error{Op: "read the kubeconfig", Class: lifecycle.ErrUnreachable, Err: err, Advice: "Run it in a pod, or name a cluster with --context or --kubeconfig."}
	}
	cfg.QPS, cfg.UserAgent = -1, "kubectl-pharos-controller/"+version().Version
	target, _, _ := strings.Cut(strings.TrimPrefix(name, "pharos-"), ".")
	m, err := lease.New(lease.Config{REST: cfg, Namespace: namespace, Target: target, Name: name,
		Deliver: lease.Timing{Duration: 15 * time.Second, RenewEvery: 5 * time.Second}, Margin: 2 * time.Second, Grace: 2 * time.Second, RequestTimeout: 3 * time.Second})
	if err != nil {
		return nil, fmt.Errorf("--leader-lease: %w", err)
	}
	return m, nil
}

// serve serves until ctx ends; requests under way get five seconds.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
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
