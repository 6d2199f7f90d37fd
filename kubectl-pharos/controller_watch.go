package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lease/argocd"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/controller"
)

// controller puts together what the flags say. The error has all that is wrong
// with them.
func (o *controllerOptions) controller() (*controller.Controller, error) {
	c := controller.Config{Version: version().Version, Identity: cmp.Or(hostname(), "unknown"), Log: slog.New(slog.NewTextHandler(o.ErrOut, nil))}
	cfg, unreachable := &rest.Config{}, error(nil)
	if o.lease != "" {
		if cfg, unreachable = o.cluster(); unreachable != nil {
			cfg = &rest.Config{} // what is wrong with the flags is said first
		}
	}
	if err := o.configure(&c, cfg); err != nil {
		return nil, err
	}
	ctl, err := controller.New(c)
	return ctl, cmp.Or(err, unreachable)
}

// configure fills in what asks a cluster.
func (o *controllerOptions) configure(c *controller.Config, cfg *rest.Config) error {
	errs := []error{o.checkArgoCD(), o.coverPutBack(c, cfg), o.sweep.configure(c, cfg, o.lease, o.homes(), c.Log), o.inventory.configure(c, cfg, o.targets)}
	leases := map[string][]controller.Inspecter{}
	for _, t := range o.targets {
		d, err := o.watchdog(cfg, t, c.Log)
		errs = append(errs, err)
		if err != nil {
			continue
		}
		ended, err := o.takeovers(cfg, d, c.Identity, c.Log)
		errs = append(errs, err)
		c.Watchdogs, c.Takeovers = append(c.Watchdogs, d), append(c.Takeovers, ended)
		of, err := lease.New(lease.Config{REST: cfg, Namespace: d.Namespace, Target: d.Target, Log: c.Log})
		errs, leases[d.Target] = append(errs, err), append(leases[d.Target], of)
	}
	errs = append(errs, o.supervise.configure(c, cfg, o.lease, leases))
	if o.lease != "" {
		leaders, err := o.leaders(cfg)
		errs = append(errs, err)
		c.Lease = leaders
	} else if len(o.targets) > 0 {
		errs = append(errs, errors.New("--watch-target needs --leader-lease: only the leader watches"))
	}
	if err := usage(errs...); err != nil || len(o.targets) == 0 {
		return err
	}
	events, err := controller.NewLeaseEvents(cfg, c.Identity, time.Now)
	c.Events = events
	return err
}

// homes are the namespaces where Pharos and what delivers for it live.
func (o *controllerOptions) homes() (namespaces []string) {
	for _, named := range slices.Concat([]string{o.lease}, o.targets) {
		namespace, _, _ := strings.Cut(named, string(types.Separator))
		namespaces = append(namespaces, namespace)
	}
	if o.argoCD != "" {
		namespaces = append(namespaces, o.argoCD)
	}
	return namespaces
}

// checkArgoCD says what is wrong with where Argo CD is.
func (o *controllerOptions) checkArgoCD() error {
	if o.argoCD == "" {
		return nil
	}
	if len(o.targets) == 0 {
		return errors.New("--argocd-namespace needs --watch-target: nothing else is done there")
	}
	if _, err := o.gate(&rest.Config{}, nil); err != nil {
		return fmt.Errorf("--argocd-namespace: %w", err)
	}
	return nil
}

// cluster is the one that the controller runs for.
func (o *controllerOptions) cluster() (*rest.Config, error) {
	cfg, err := o.config.ToRESTConfig()
	if err == nil && o.unconfigured(cfg) {
		err = errors.New("there is none")
	}
	if err != nil {
		return nil, &lifecycle.Error{Op: "read the kubeconfig", Class: lifecycle.ErrUnreachable, Err: err, Advice: "Run it in a pod, or name a cluster with --context or --kubeconfig."}
	}
	cfg.QPS, cfg.UserAgent = -1, "kubectl-pharos-controller/"+version().Version
	return cfg, nil
}

// leaders is the lease by which the leader is elected.
func (o *controllerOptions) leaders(cfg *rest.Config) (*lease.Manager, error) {
	namespace, name, err := namespaced("--leader-lease", o.lease, "NAME")
	if err != nil {
		return nil, err
	}
	target, _, _ := strings.Cut(strings.TrimPrefix(name, "pharos-"), ".")
	m, err := lease.New(lease.Config{REST: cfg, Namespace: namespace, Target: target, Name: name,
		Deliver: lease.Timing{Duration: 15 * time.Second, RenewEvery: 5 * time.Second}, Margin: 2 * time.Second, Grace: 2 * time.Second, RequestTimeout: 3 * time.Second})
	if err != nil {
		return nil, fmt.Errorf("--leader-lease: %w", err)
	}
	return m, nil
}

// watchdog watches the lease of a target.
func (o *controllerOptions) watchdog(cfg *rest.Config, target string, log *slog.Logger) (controller.Watchdog, error) {
	namespace, name, err := namespaced("--watch-target", target, "TARGET")
	if err != nil {
		return controller.Watchdog{}, err
	}
	c := lease.Config{REST: cfg, Namespace: namespace, Target: name, Log: log}
	if o.argoCD != "" {
		if g, err := o.gate(cfg, log); err == nil { // checkArgoCD says it, once
			c.Gate = g
		}
	}
	m, err := lease.New(c)
	if err != nil {
		return controller.Watchdog{}, fmt.Errorf("--watch-target %s: %w", target, err)
	}
	return controller.Watchdog{Namespace: namespace, Target: name, Lease: m}, nil
}

// gate is that of Argo CD. What it opens is named by its windows.
func (o *controllerOptions) gate(cfg *rest.Config, log *slog.Logger) (*argocd.Gate, error) {
	return argocd.New(argocd.Config{REST: cfg, Namespace: o.argoCD, Log: log, Applications: func(context.Context) ([]string, error) {
		return nil, errors.New("the controller borrows nothing")
	}})
}

func namespaced(flag, value, what string) (namespace, name string, err error) {
	namespace, name, ok := strings.Cut(value, string(types.Separator))
	if !ok || namespace == "" || name == "" {
		return "", "", fmt.Errorf("%s is %q, and must be NAMESPACE/%s", flag, value, what)
	}
	return namespace, name, nil
}
