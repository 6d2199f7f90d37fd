package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/lazyregexp"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/transport"
)

// Pusher brings a pruned tree to the Git server. *transport.Remote is one.
// Implementations are safe for concurrent use.
type Pusher interface {
	PushInputs(ctx context.Context, tree source.Tree) (transport.Inputs, error)
}

// Registry says whether an image is there. *registry.Registry is one.
// Implementations are safe for concurrent use.
type Registry interface {
	// Verify asks for the image index of that digest and all that it names. The
	// error matches lifecycle.ErrImageNotFound if any of it is missing.
	Verify(ctx context.Context, repository string, digest lifecycle.Digest) (lifecycle.RegistryImage, error)
}

// Config says where Jobs run and what they have.
type Config struct {
	// REST is how the API server is reached. It is copied. Required.
	REST *rest.Config
	// Namespace is where Jobs are made; it must exist. Required.
	Namespace string
	// Target is the name of the target, a DNS label. Required.
	Target string
	// Owner is user@host, for people. The default names nobody.
	Owner string

	// Pusher brings inputs to the Git server. Required.
	Pusher Pusher
	// GitURL is the address of the same repository as pods see it, http:// or
	// https://, without user name and password. Required.
	GitURL string
	// GitSecret is the name of a Secret with the credentials for it, under the
	// key "credentials". The default is none.
	GitSecret string

	// Image is BuildKit's image by digest, as nodes pull it: with buildkitd,
	// buildctl, runc, git and a shell, such as moby/buildkit. Required.
	Image string
	// Push and Pull are what repositories begin with, as this machine and as
	// pods see them, "localhost:5000/dev" and "registry.pharos.svc:5000/dev". The
	// default of Pull is Push; the default of Push is nothing, for names that are
	// the same everywhere. If they differ in their hosts alone, the hosts are taken
	// for one registry: a base that a Dockerfile names by that of Push is pulled from
	// that of Pull.
	Push, Pull string
	// Insecure says that the registry of Pull speaks plain HTTP. The default
	// refuses it.
	Insecure bool
	// RegistrySecret is the name of a Secret of type
	// kubernetes.io/dockerconfigjson. BuildKit's own image is pulled with it too.
	// The default is none.
	RegistrySecret string
	// Registry is asked whether the image of a Job that is done is still there.
	// The default is to build again.
	Registry Registry

	// BuildSecret and SSHSecret are the names of Secrets whose keys are the ids of
	// build secrets and of SSH keys. The default has none.
	BuildSecret, SSHSecret string

	// Cache is where BuildKit keeps its cache.
	Cache Cache
	// Requests and Limits are those of the container in which BuildKit runs, by
	// the names of resources, "cpu" and "memory". The default requests 500m and
	// 512Mi, and has no limits.
	Requests, Limits map[string]string
	// NodeSelector has the labels of nodes that builds may run on. The default is
	// any node.
	NodeSelector map[string]string
	// PodAnnotations are added to the pod, for what looks for them in the cluster.
	// The default is none.
	PodAnnotations map[string]string

	// Deadline is how long a Job may take. The default is an hour.
	Deadline time.Duration
	// TTL is how long a Job that is done stays. The default is ten minutes.
	TTL time.Duration
	// StartWithin is how long a pod may wait for a node, a volume or a Secret. The
	// default is two minutes.
	StartWithin time.Duration
	// GoOn leaves a Job that this process created to itself when ctx ends. The
	// default deletes it.
	GoOn bool
	// Log receives what is no error. The default discards.
	Log *slog.Logger
}

// Cache says where BuildKit keeps its cache.
type Cache struct {
	// Claim is the name of a PersistentVolumeClaim; the image needs flock then. The
	// default is a volume of the pod, which goes with it.
	Claim string
	// MaxSize is how much an image's cache may take, such as "20GB" or "50%" of
	// the volume. The default is BuildKit's.
	MaxSize string
}

var (
	byDigest  = lazyregexp.New(`@sha256:[0-9a-f]{64}$`)
	cacheSize = lazyregexp.New(`^[1-9][0-9]*(%|[KMGT]?B)$`)
)

// check completes a Config, and says all that is wrong with it.
func (c *Config) check() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf("Config."+format, args...)) }
	if c.REST == nil {
		wrong("REST is required")
	}
	if c.Pusher == nil {
		wrong("Pusher is required")
	}
	for field, value := range map[string]string{"Namespace": c.Namespace, "Target": c.Target} {
		if msgs := validation.IsDNS1123Label(value); len(msgs) > 0 {
			wrong("%s %q: %s", field, value, strings.Join(msgs, "; "))
		}
	}
	for field, value := range map[string]string{"GitSecret": c.GitSecret, "RegistrySecret": c.RegistrySecret,
		"BuildSecret": c.BuildSecret, "SSHSecret": c.SSHSecret, "Cache.Claim": c.Cache.Claim} {
		if msgs := validation.IsDNS1123Subdomain(value); value != "" && len(msgs) > 0 {
			wrong("%s %q: %s", field, value, strings.Join(msgs, "; "))
		}
	}
	u, err := url.Parse(c.GitURL)
	switch {
	case err != nil: // it would quote the address
		wrong("GitURL is no well-formed URL")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		wrong("GitURL is not http:// or https:// and a host: Jobs fetch by smart HTTP")
	case u.User != nil:
		wrong("GitURL has a user name, which would stand in the Job: keep it in a Secret, and name that in GitSecret")
	}
	if !byDigest.MatchString(c.Image) {
		wrong("Image %q is not named by digest", c.Image)
	}
	if c.Cache.MaxSize != "" && !cacheSize.MatchString(c.Cache.MaxSize) {
		wrong("Cache.MaxSize %q is not a size such as 20GB or 50%%", c.Cache.MaxSize)
	}
	for field, quantities := range map[string]map[string]string{"Requests": c.Requests, "Limits": c.Limits} {
		for _, name := range slices.Sorted(maps.Keys(quantities)) {
			if _, err := resource.ParseQuantity(quantities[name]); err != nil {
				wrong("%s[%s] %q: %w", field, name, quantities[name], err)
			}
		}
	}
	if c.Deadline < 0 || c.TTL < 0 || c.StartWithin < 0 {
		wrong("Deadline (%v), TTL (%v) and StartWithin (%v) must not be negative", c.Deadline, c.TTL, c.StartWithin)
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	c.complete()
	return errors.Join(errs...)
}

func (c *Config) complete() {
	if c.Pull == "" {
		c.Pull = c.Push
	}
	if c.Requests == nil {
		c.Requests = map[string]string{"cpu": "500m", "memory": "512Mi"}
	}
	if c.Deadline == 0 {
		c.Deadline = time.Hour
	}
	if c.TTL == 0 {
		c.TTL = 10 * time.Minute
	}
	if c.StartWithin == 0 {
		c.StartWithin = 2 * time.Minute
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
}
