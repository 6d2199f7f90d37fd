package main

import (
	"log/slog"

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
