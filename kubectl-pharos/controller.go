package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lifecycle"
)

type controllerOptions struct {
	*shared
	address string
	lease   string
	targets []string
	argoCD  string
	putBack []string
	sweep   sweepFlags

	supervise superviseFlags
	inventory inventoryFlags
}

func newController(s *shared) *cobra.Command {
	o := &controllerOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Run the controller: health, metrics, the watchdogs of leases, and the sweep",
		Long: `Run the controller.

It serves /healthz, /readyz and /metrics, elects one leader among its replicas by the
Lease of --leader-lease, and ends on SIGTERM, giving the leadership back. Without
--leader-lease it asks nothing of the cluster.

The leader watches the leases of the targets of --watch-target. Where Argo CD delivers
them, which --argocd-namespace says, it removes the sync windows of leases that have
ended, has Argo CD restore what they covered, and says in its log, in metrics and in
Events on the Lease what it opened and what did not become what is declared. Where
something else delivers them, it puts workloads back that were taken over by somebody
whose lease is over, or who has been silent for as long as the takeover allows, in the
namespaces of --put-back. It needs no repository.

With --sweep the leader deletes what says that it is transient when it is past its end,
as kubectl pharos reap does once. Without it nothing is ended. With --supervise it
restarts workloads of these namespaces that ask for it, each within its restart budget.
With --record-inventory it keeps what kubectl pharos inventory counts, for trends.

kubectl pharos deploy --controller-image installs it, with the rights that it uses.`,
		Example: `  kubectl pharos controller --health-address :8081

  # Watch the lease of a target that Argo CD delivers
  kubectl pharos controller --leader-lease pharos/pharos-devbox.controller \
    --watch-target pharos/devbox --argocd-namespace argocd

  # Delete namespaces and ConfigMaps that are past their end, and warn an hour before
  kubectl pharos controller --leader-lease pharos/pharos.controller \
    --sweep namespaces,configmaps --notify-before 1h`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&o.address, "health-address", ":8081", "Where to serve /healthz, /readyz and /metrics")
	f.StringVar(&o.lease, "leader-lease", "", "The Lease by which replicas elect their leader, as NAMESPACE/NAME. The default is to elect none")
	f.StringSliceVar(&o.targets, "watch-target", nil, "A target whose lease the leader watches, as NAMESPACE/TARGET. May be repeated. The default is none")
	f.StringVar(&o.argoCD, "argocd-namespace", "", "The namespace of the Argo CD that delivers the targets of --watch-target. The default is that none does")
	f.StringSliceVar(&o.putBack, "put-back", nil, "Namespaces in which the leader puts back what was taken over. In its Lease it says in which of them it may, since a takeover anywhere else is refused. May be repeated. The default is none")
	_ = cmd.RegisterFlagCompletionFunc("put-back", cobra.NoFileCompletions)
	o.sweep.add(cmd)
	o.supervise.add(cmd)
	o.inventory.add(cmd)
	return cmd
}

func (o *controllerOptions) run(ctx context.Context) error {
	c, err := o.controller()
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
