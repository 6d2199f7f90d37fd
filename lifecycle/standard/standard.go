package standard

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/google/go-containerregistry/pkg/authn"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/strictyaml"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/deliver/apply"
	"github.com/pharos-dev/pharos/lifecycle/registry"
	"github.com/pharos-dev/pharos/lifecycle/render"
	"github.com/pharos-dev/pharos/receipt/kube"
)

// Options is what a Target document does not say.
type Options struct {
	// REST is the target's cluster. Required.
	REST *rest.Config
	// Actor is user@host, for people.
	Actor string
	// Keychain has the registry's credentials. The default is anonymous.
	Keychain authn.Keychain
	// Transport carries the requests to the registry. The default uses no
	// proxy; programs that want the environment's pass http.DefaultTransport.
	Transport http.RoundTripper
	// Env is the environment of the builders, as of os.Environ: they find the go
	// command, its caches and its module proxy, git, and the folder for temporary
	// files there.
	Env []string
	// Checkout is the root of the checkout that commits are of, or a folder in
	// it. It is required for a target whose BuildKit runs in a Job: what its Git
	// server lacks is pushed from there.
	Checkout string
	// Secrets return the values of the build secrets that Dockerfiles mount, by
	// id, when they are needed. A target whose BuildKit runs in Jobs, which have
	// their own, refuses any. The default has none.
	Secrets map[string]func(context.Context) ([]byte, error)
	// SSH are the sockets of the SSH agents that Dockerfiles mount, by id. A
	// target whose BuildKit runs in Jobs, which have keys of their own, refuses
	// any. The default has none.
	SSH map[string]string
	// BuildKitTLS secures the connection to a BuildKit at a tcp address. The
	// default is no TLS.
	BuildKitTLS *tls.Config
	// Renderings keeps what was rendered, for the next time that the same is asked
	// for. Nil keeps nothing.
	Renderings *render.Cache
	// Lease changes the lease's timing; its REST, Namespace and Target, and its Gate
	// where that is nil and Argo CD delivers, are filled in.
	Lease lease.Config
	// Jobs is how many images are built at once. The default is 4.
	Jobs int
	// ControllerImage is the image of the controller that a deploy installs. The
	// default is to install none, and to keep the one that the target has, with rights
	// and tasks that fit what is delivered.
	ControllerImage string
	// Version is that of the program, for the checkpoint of a target.
	Version string
	// Log receives what is no event. The default discards.
	Log *slog.Logger
}

// ReadTargets returns the targets of a tree's pharos.yaml, with what its pharos.lock
// says of them. Errors match
// lifecycle.ErrSource.
func ReadTargets(ctx context.Context, tree source.Tree) ([]Target, error) {
	data, err := tree.ReadFile(ctx, catalogue.FileName)
	if err != nil {
		if _, all := catalogue.Load(ctx, tree); all != nil {
			err = all // it says what is there instead, and what to do
		}
		return nil, &lifecycle.Error{Op: "read", On: catalogue.FileName, Class: lifecycle.ErrSource, Err: err}
	}
	targets, err := ParseTargets(catalogue.FileName, data)
	if _, catErr := catalogue.Parse(catalogue.FileName, data); catErr != nil {
		err = strictyaml.Join(catErr, err)
	}
	if err != nil {
		return nil, &lifecycle.Error{Op: "read", On: catalogue.FileName, Class: lifecycle.ErrSource, Err: err}
	}
	pin(ctx, tree, targets)
	return targets, nil
}

// New returns the Lifecycle of a target. It makes no call.
func New(t Target, o Options) (*lifecycle.Lifecycle, error) {
	c, err := Config(t, o)
	if err != nil {
		return nil, err
	}
	return lifecycle.New(c)
}

// Config returns the parts that New puts together.
func Config(t Target, o Options) (lifecycle.Config, error) {
	fail := func(part string, err error) (lifecycle.Config, error) {
		return lifecycle.Config{}, fmt.Errorf("set up the %s of target %q: %w", part, t.Name, err)
	}
	if o.REST == nil {
		return fail("cluster", errors.New("Options.REST is required"))
	}
	cluster, err := NewCluster(o.REST, t.Namespace)
	if err != nil {
		return fail("cluster", err)
	}
	receipts, err := kube.New(kube.Config{REST: o.REST, Namespace: t.Namespace, Target: t.Name})
	if err != nil {
		return fail("receipts", err)
	}
	leases, err := NewLease(t, o)
	if err != nil {
		return fail("lease", err)
	}
	// A manager for each target: two targets that name the same object then
	// have a conflict, and do not take it from each other in turn.
	objects, err := apply.New(apply.Config{RESTConfig: o.REST, FieldManager: keys.Manager + "-" + t.Name, Log: o.Log})
	if err != nil {
		return fail("delivery", err)
	}
	way := delivery{deliverer: objects}
	if t.Git != nil && t.BuildKit != nil && t.BuildKit.Job != nil {
		way.transport = newPublisher(t, o) // of what Jobs fetch, the server is to forget what is old
	}
	if t.Deliver.ArgoCD != nil {
		if way, err = throughArgoCD(t, o, objects); err != nil {
			return fail("delivery", err)
		}
	}
	images, err := NewRegistry(t, o)
	if err != nil {
		return fail("registry", err)
	}
	renderer, err := NewRenderer(t, o)
	if err != nil {
		return fail("renderer", err)
	}
	builders, err := builders(t, o, images, cluster)
	if err != nil {
		return fail("builders", err)
	}
	prepared, err := setup(t, o, way.preparers...)
	if err != nil {
		return fail("preparation", err)
	}
	return lifecycle.Config{
		Target: t.Name, Overlay: t.Overlay, Push: t.Registry.Push, Pull: t.Registry.Pull,
		Cluster: cluster, Receipts: receipts, Lease: leases, Registry: images,
		Builders:  builders,
		Renderer:  renderer,
		Deliverer: way.deliverer,
		Transport: way.transport,
		Setup:     prepared,
		Reserved:  reserved(t.Namespace),
		Actor:     o.Actor, Jobs: o.Jobs, Keep: t.Receipts.Keep, Log: o.Log,
	}, nil
}

// NewRegistry returns the client of a target's registry. It needs no cluster, so
// Options.REST may be nil, and makes no call.
func NewRegistry(t Target, o Options) (*registry.Registry, error) {
	return registry.New(registry.Config{Keychain: o.Keychain, Insecure: t.Registry.Insecure, Transport: o.Transport, Log: o.Log})
}

// NewReceipts returns the store of a target's receipts. It makes no call.
func NewReceipts(t Target, o Options) (*kube.Store, error) {
	return kube.New(kube.Config{REST: o.REST, Namespace: t.Namespace, Target: t.Name})
}
