package standard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/gocommand"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile/job"
	"github.com/pharos-dev/pharos/lifecycle/build/files"
	"github.com/pharos-dev/pharos/lifecycle/build/golang"
	"github.com/pharos-dev/pharos/lifecycle/registry"
	"github.com/pharos-dev/pharos/lifecycle/transport"
)

// Builds says whether a target has a builder for a kind of recipe, such as
// catalogue.BuildGo. Dockerfiles need a BuildKit.
func Builds(kind string, t Target) bool {
	return kind == catalogue.BuildGo || kind == catalogue.BuildFiles || kind == catalogue.BuildDockerfile && t.BuildKit != nil
}

// builders returns a builder for each kind of recipe that the target can build.
func builders(t Target, o Options, images *registry.Registry, cluster *Cluster) (map[string]lifecycle.Builder, error) {
	goBuilder, err := golang.New(golang.Config{Registry: images, Env: o.Env, Log: o.Log})
	if err != nil {
		return nil, err
	}
	filesBuilder, err := files.New(files.Config{Registry: images, Env: o.Env, Log: o.Log})
	if err != nil {
		return nil, err
	}
	all := map[string]lifecycle.Builder{catalogue.BuildGo: goBuilder, catalogue.BuildFiles: filesBuilder}
	if t.BuildKit == nil {
		return all, nil
	}
	backend, err := backend(t, o, images, cluster)
	if err != nil {
		return nil, err
	}
	all[catalogue.BuildDockerfile], err = dockerfile.New(dockerfile.Config{Backend: backend, Registry: images, Log: o.Log})
	return all, err
}

// backend is how the target's BuildKit is reached.
func backend(t Target, o Options, images *registry.Registry, cluster *Cluster) (dockerfile.Backend, error) {
	at := dockerfile.AddressConfig{
		TLS: o.BuildKitTLS, Keychain: o.Keychain, Insecure: t.Registry.Insecure, Secret: o.secret(), SSH: o.SSH, Log: o.Log,
	}
	switch {
	case t.BuildKit.Job != nil:
		if err := o.reachJobs(t); err != nil {
			return nil, err
		}
		return jobBackend(t, o, images, cluster), nil
	case t.BuildKit.Runner != nil:
		at.Address = t.BuildKit.Runner.Address
		return dockerfile.NewRunner(dockerfile.RunnerConfig{
			AddressConfig: at, Registry: images, TempDir: gocommand.NewEnvironment(o.Env).TempDir(),
		})
	}
	at.Address = t.BuildKit.Address
	return dockerfile.NewAddress(at)
}

// secret returns the value of a secret of the options.
func (o Options) secret() func(context.Context, string) ([]byte, error) {
	return func(ctx context.Context, id string) ([]byte, error) {
		read, ok := o.Secrets[id]
		if !ok {
			return nil, dockerfile.ErrNotSupplied
		}
		return read(ctx)
	}
}

// reachJobs refuses what would be left unused: Jobs have secrets and SSH keys of their
// own.
func (o Options) reachJobs(t Target) error {
	var given, fields []string
	if len(o.Secrets) > 0 {
		given = append(given, "build secrets ("+strings.Join(slices.Sorted(maps.Keys(o.Secrets)), ", ")+")")
		fields = append(fields, "spec.buildkit.job.buildSecret")
	}
	if len(o.SSH) > 0 {
		given = append(given, "SSH agents ("+strings.Join(slices.Sorted(maps.Keys(o.SSH)), ", ")+")")
		fields = append(fields, "spec.buildkit.job.sshSecret")
	}
	if given == nil {
		return nil
	}
	return &lifecycle.Error{
		Op: "build in Jobs of", On: "target " + t.Name,
		Err: fmt.Errorf("%s of this machine are given, and do not reach them", strings.Join(given, " and ")),
		Advice: fmt.Sprintf("Keep them in a Secret of the namespace %s whose keys are these ids, name it in %s of the target, and give none here.",
			t.Namespace, strings.Join(fields, " and ")),
	}
}

// jobs is the backend of BuildKit in Jobs. It is set up when something is built:
// nothing else needs git.
type jobs struct {
	cluster  *Cluster
	unlocked error // nothing says by digest which image they run
	open     func() (dockerfile.Backend, error)
}

func jobBackend(t Target, o Options, images *registry.Registry, cluster *Cluster) jobs {
	return jobs{cluster: cluster, unlocked: t.BuildKit.Job.unlocked(t.Name), open: sync.OnceValues(func() (dockerfile.Backend, error) {
		backend, err := openJobs(t, o, images)
		if err != nil {
			return nil, &lifecycle.Error{Op: "set up Jobs for BuildKit", On: "target " + t.Name, Err: err}
		}
		return backend, nil
	})}
}

// Supplied says what keeps Jobs from being made, before any build.
func (j jobs) Supplied(context.Context, []string, []string) error { return j.unlocked }

// Solve makes sure that the namespace is there in which Jobs are made.
func (j jobs) Solve(ctx context.Context, s dockerfile.Solve) (dockerfile.Solved, error) {
	if j.unlocked != nil {
		return dockerfile.Solved{}, j.unlocked
	}
	backend, err := j.open()
	if err == nil {
		err = j.cluster.Prepare(ctx)
	}
	if err != nil {
		return dockerfile.Solved{}, err
	}
	return backend.Solve(ctx, s)
}

func openJobs(t Target, o Options, images *registry.Registry) (dockerfile.Backend, error) {
	if t.Git == nil {
		return nil, errors.New("spec.buildkit.job needs spec.git, where Jobs fetch the inputs from")
	}
	remote, err := transport.New(transport.Config{URL: t.Git.Push, Dir: o.Checkout, Env: o.Env, Log: o.Log})
	if err != nil {
		return nil, err
	}
	j := t.BuildKit.Job
	return job.New(job.Config{
		REST: o.REST, Namespace: t.Namespace, Target: t.Name, Owner: o.Actor,
		Pusher: remote, GitURL: t.Git.URL, GitSecret: j.GitSecret,
		Image: cmp.Or(j.Pinned, j.Image), Push: t.Registry.Push, Pull: t.Registry.Pull, Insecure: t.Registry.Insecure, RegistrySecret: j.RegistrySecret, Registry: images,
		BuildSecret: j.BuildSecret, SSHSecret: j.SSHSecret,
		Cache:    job.Cache{Claim: j.Cache.Claim, MaxSize: j.Cache.MaxSize},
		Requests: j.Resources.Requests, Limits: j.Resources.Limits, NodeSelector: j.NodeSelector,
		Log: o.Log,
	})
}
