package controlplane

import (
	"context"
	"fmt"

	"k8s.io/client-go/tools/cache"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"

	"github.com/pharos-dev/pharos/internal/devcluster/internal/state"
)

func (c Config) runScheduler(ctx context.Context) error {
	o := options.NewOptions()
	err := parse("kube-scheduler", *o.Flags,
		"--kubeconfig="+c.Folder.Path(state.Scheduler.File),
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
		"--profiling=false",
	)
	if err != nil {
		return err
	}
	if o.InformerName, err = cache.NewInformerName("kube-scheduler"); err != nil {
		return fmt.Errorf("configure: %w", err)
	}
	config, sched, err := scheduler.Setup(ctx, o)
	if err != nil {
		return fmt.Errorf("configure: %w", err)
	}
	return scheduler.Run(ctx, config, sched)
}
