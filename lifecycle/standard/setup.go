package standard

import (
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
)

// setup is how a target is prepared: namespaces, rights, what its way of delivery
// needs, and the controller if there is an image for it or one is installed.
func setup(t Target, o Options, more ...lifecycle.Preparer) (*lifecycle.Setup, error) {
	if o.ControllerImage != "" {
		if _, err := name.ParseReference(o.ControllerImage); err != nil {
			return nil, fmt.Errorf("the controller's image is %q, and must be an image as nodes pull it, such as registry.example/pharos@sha256:DIGEST: %w", o.ControllerImage, err)
		}
	}
	w, err := newSetupWriter(o.REST, keys.Manager+"-deploy-"+t.Name)
	if err != nil {
		return nil, fmt.Errorf("set up the preparation of target %q: %w", t.Name, err)
	}
	checkpoints, err := NewCheckpoints(o.REST, t.Namespace, t.Name)
	if err != nil {
		return nil, fmt.Errorf("set up the preparation of target %q: %w", t.Name, err)
	}
	s := &lifecycle.Setup{
		Namespace: t.Namespace, Account: accountOf(t.Name), Version: o.Version,
		Preparers: append([]lifecycle.Preparer{Namespaces{}, Rights{Builds: t.BuildKit != nil && t.BuildKit.Job != nil, Observed: t.Deliver.ArgoCD != nil}}, more...),
		Checks:    gitChecks(t, o),
		Writer:    w, Checkpoints: checkpoints,
	}
	installed, err := installedController(o.REST)
	if err != nil {
		return nil, fmt.Errorf("set up the preparation of target %q: %w", t.Name, err)
	}
	s.Preparers = append(s.Preparers, Controller{Image: o.ControllerImage, Installed: installed, ArgoCD: t.Deliver.ArgoCD, Asked: t.Controller})
	return s, nil
}

// accountOf is the ServiceAccount as which deliveries to a target run in its
// cluster.
func accountOf(target string) string { return keys.Manager + "-" + target + "-deliver" }

// controllerOf names the account, the Deployment and the roles of a target's
// controller. Its lease has another name: see LeaderLease.
func controllerOf(target string) string { return keys.Manager + "-" + target + "-controller" }

// LeaderLease is the name of the Lease by which the controllers of a target elect
// their leader. It has a dot, so that it is the lease of no target.
func LeaderLease(target string) string { return keys.Manager + "-" + target + ".controller" }
