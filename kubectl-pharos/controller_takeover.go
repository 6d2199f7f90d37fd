package main

import (
	"errors"
	"log/slog"
	"slices"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/controller"
	"github.com/pharos-dev/pharos/lifecycle/takeover/restore"
)

// takeovers ends those of a target whose holder is gone. Where Argo CD delivers it, that
// puts back what Git declares.
func (o *controllerOptions) takeovers(cfg *rest.Config, d controller.Watchdog, by string, log *slog.Logger) (controller.Takeover, error) {
	leases, err := lease.New(lease.Config{REST: cfg, Namespace: d.Namespace, Target: d.Target, Log: log})
	if err != nil {
		return controller.Takeover{}, err
	}
	r, err := restore.New(restore.Config{REST: cfg, Namespace: d.Namespace, Target: d.Target, Lease: leases, By: by, Others: o.argoCD != "", Log: log})
	if err != nil {
		return controller.Takeover{}, err
	}
	return controller.Takeover{Namespace: d.Namespace, Target: d.Target, Sessions: r}, nil
}

// coverPutBack has the leader say where it may put back what was taken over.
func (o *controllerOptions) coverPutBack(c *controller.Config, cfg *rest.Config) (err error) {
	switch {
	case len(o.putBack) == 0:
		return nil
	case slices.Contains(o.putBack, ""):
		return errors.New("--put-back has an empty name of a namespace")
	case len(o.targets) == 0:
		return errors.New("--put-back needs --watch-target: nothing else is put back")
	case o.argoCD != "":
		return errors.New("--put-back and --argocd-namespace exclude each other: Argo CD puts back what it delivers")
	}
	c.Covers, err = controller.MayPutBack(cfg, o.putBack)
	return err
}
