package controlplane

import (
	"context"
	"fmt"

	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"

	"github.com/pharos-dev/pharos/internal/devcluster/internal/state"
)

func (c Config) runControllerManager(ctx context.Context) error {
	keys, err := c.Folder.Keys()
	if err != nil {
		return err
	}
	o, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return fmt.Errorf("configure: %w", err)
	}
	known, off, aliases := controllermanager.KnownControllers(), controllermanager.ControllersDisabledByDefault(), controllermanager.ControllerAliases()
	flags := o.Flags(known, off, aliases)
	o.ParsedFlags = &flags
	err = parse("kube-controller-manager", flags,
		"--kubeconfig="+c.Folder.Path(state.Controllers.File),
		// There is one, and waiting for a lease costs seconds at a restart.
		"--leader-elect=false",
		"--secure-port=0",
		"--service-account-private-key-file="+keys.ServiceAccountKey,
		"--root-ca-file="+keys.CA,
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
		"--profiling=false",
		"--controller-shutdown-timeout="+controllersEnd.String(),
	)
	if err != nil {
		return err
	}
	config, err := o.Config(ctx, known, off, aliases)
	if err != nil {
		return fmt.Errorf("configure: %w", err)
	}
	return controllermanager.Run(ctx, config.Complete())
}
