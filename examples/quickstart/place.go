package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/pharos-dev/pharos/examples/quickstart/shop"
	"github.com/pharos-dev/pharos/internal/devenv"
)

// place is where the story happens: a folder, a cluster and a registry.
type place struct {
	dir     string
	cluster *devenv.Cluster
	shop    shop.Options
	// images counts what the registry is asked; nil if the registry is not ours.
	images   *traffic
	keychain authn.Keychain
	// noBuildKit says why there is none to build Dockerfiles; nil if there is.
	noBuildKit error
	closers    []func(context.Context) error
}

// open makes the place. What it has made is taken down if something fails.
func open(ctx context.Context, o options, progress io.Writer) (_ *place, err error) {
	p := &place{shop: shop.Options{Namespace: "shop", Receipts: "pharos"}}
	defer func() {
		if err != nil {
			if cerr := p.close(ctx); cerr != nil {
				err = errors.Join(err, fmt.Errorf("%w: %w", errCleanUp, cerr))
			}
		}
	}()
	if p.dir, err = os.MkdirTemp("", "pharos-quickstart-"); err != nil {
		return p, err
	}
	p.onClose(func(context.Context) error { return os.RemoveAll(p.dir) })
	if o.takeover {
		return p, p.openNode(ctx, progress)
	}
	if err := p.openBuildKit(ctx, progress); err != nil {
		return p, err
	}
	if o.context != "" {
		return p, p.openExisting(ctx, o)
	}
	if p.cluster, err = devenv.Start(ctx, devenv.Options{Output: progress}); err != nil {
		return p, err
	}
	p.onClose(func(context.Context) error { return p.cluster.Stop() })
	if o.argocd {
		if err := p.openArgoCD(ctx, progress); err != nil {
			return p, err
		}
	}
	return p, p.openRegistry(ctx)
}

// openNode starts a cluster whose node runs pods, with a registry that it pulls from.
func (p *place) openNode(ctx context.Context, progress io.Writer) error {
	if err := devenv.NodeAvailable(); err != nil {
		return err
	}
	n, err := devenv.StartNode(ctx, devenv.NodeOptions{Output: progress})
	if err != nil {
		return err
	}
	p.onClose(func(context.Context) error { return n.Cluster.Stop() })
	p.cluster = n.Cluster
	p.shop.Push, p.shop.Pull, p.shop.Insecure = n.PushRegistry()+"/shop", n.PullRegistry()+"/shop", true
	return nil
}

// openArgoCD starts an Argo CD beside the cluster, and a Git server that it fetches
// the shop from.
func (p *place) openArgoCD(ctx context.Context, progress io.Writer) error {
	a, err := devenv.StartArgoCD(ctx, p.cluster, devenv.ArgoCDOptions{Output: progress})
	if err != nil {
		return err
	}
	p.onClose(func(context.Context) error { return a.Stop() })
	p.shop.ArgoCD, p.shop.Git = a.Namespace(), a.GitURL()+"/shop.git"
	return nil
}

func (p *place) onClose(f func(context.Context) error) { p.closers = append(p.closers, f) }

// close takes everything down, last things first, whether ctx has ended or not.
func (p *place) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	var errs []error
	for i := len(p.closers) - 1; i >= 0; i-- {
		errs = append(errs, p.closers[i](ctx))
	}
	p.closers = nil
	return errors.Join(errs...)
}

// openRegistry starts a registry in this process, on loopback.
func (p *place) openRegistry(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("start a registry: %w", err)
	}
	p.images = &traffic{}
	server := &http.Server{
		Handler:           p.images.handler(registry.New(registry.Logger(log.New(io.Discard, "", 0)))),
		ReadHeaderTimeout: 10 * time.Second,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	p.onClose(func(context.Context) error {
		err := server.Close()
		if serveErr := <-served; !errors.Is(serveErr, http.ErrServerClosed) {
			err = errors.Join(err, serveErr)
		}
		return err
	})
	p.shop.Push, p.shop.Insecure = l.Addr().String()+"/shop", true
	p.shop.Pull = p.shop.Push
	return nil
}

// openBuildKit starts a BuildKit where one can run.
func (p *place) openBuildKit(ctx context.Context, progress io.Writer) error {
	if p.noBuildKit = devenv.BuildKitAvailable(); p.noBuildKit != nil {
		return nil
	}
	fmt.Fprintln(progress, "starting a BuildKit")
	b, err := devenv.StartBuildKit(ctx, devenv.BuildKitOptions{Output: progress})
	if err != nil {
		return err
	}
	p.onClose(func(context.Context) error { return b.Stop() })
	p.shop.BuildKit = b.Address()
	return nil
}

// openExisting uses a cluster and a registry that are there already.
func (p *place) openExisting(ctx context.Context, o options) (err error) {
	if p.cluster, err = devenv.Existing(o.context, filepath.Join(p.dir, "kube")); err != nil {
		return err
	}
	p.shop.Push, p.shop.Pull, p.shop.Insecure = o.registry, o.registryPull, o.insecure
	if p.shop.Pull == "" {
		p.shop.Pull = p.shop.Push
	}
	p.keychain = authn.DefaultKeychain
	return p.takeNamespaces(ctx)
}

// takeNamespaces chooses names of namespaces that nobody else has, and sees to
// it that they are deleted at the end, with the rights that deploy makes.
func (p *place) takeNamespaces(ctx context.Context) (err error) {
	suffix := "-" + strings.ToLower(rand.Text()[:8])
	p.shop.Namespace += suffix
	p.shop.Receipts += suffix
	if p.shop.Platforms, err = platforms(ctx, p.cluster.Config()); err != nil {
		return err
	}
	p.onClose(func(ctx context.Context) error {
		return errors.Join(deleteNamespaces(ctx, p.cluster.Config(), p.shop.Namespace, p.shop.Receipts),
			deleteRights(ctx, p.cluster.Config(), p.shop.Receipts, shop.Target))
	})
	return nil
}
