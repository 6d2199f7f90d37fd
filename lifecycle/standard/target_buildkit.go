package standard

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/distribution/reference"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/lazyregexp"
	"github.com/pharos-dev/pharos/internal/strictyaml"
	"github.com/pharos-dev/pharos/lifecycle"
)

// BuildKit is what builds Dockerfiles: exactly one of its fields is set.
type BuildKit struct {
	// Job runs BuildKit in Jobs on the target, in its namespace.
	Job *BuildKitJob
	// Address is a running BuildKit that reaches the registry as builders do,
	// "tcp://host:port" or "unix:///path".
	Address string
	// Runner is a running BuildKit that need not reach the registry: images are
	// published from here.
	Runner *BuildKitRunner
}

// BuildKitRunner is a runner's address, "tcp://host:port" or "unix:///path".
type BuildKitRunner struct{ Address string }

// BuildKitJob says what Jobs that run BuildKit have. Secrets are named, and their
// values are never here.
type BuildKitJob struct {
	// Image is BuildKit's image as nodes pull it, as it is written in the Target. The
	// default is DefaultBuildKitImage.
	Image string
	// Pinned is Image by digest: Image itself, or with the digest that pharos.lock
	// holds for it. Empty if nothing says which image it is; nothing is built then.
	Pinned string
	// Cache is where BuildKit keeps its cache. The default goes with each Job.
	Cache BuildKitCache
	// RegistrySecret is the name of a Secret of the type
	// kubernetes.io/dockerconfigjson; empty for none.
	RegistrySecret string
	// GitSecret is the name of a Secret with the Git server's credentials, under
	// the key "credentials"; empty for none.
	GitSecret string
	// BuildSecret and SSHSecret are the names of Secrets whose keys are the ids of
	// build secrets and of SSH keys; empty for none.
	BuildSecret, SSHSecret string
	// Resources are those of the container in which BuildKit runs. Without
	// requests, package job says what they are.
	Resources BuildKitResources
	// NodeSelector has the labels of the nodes that Jobs may run on; nil for any.
	NodeSelector map[string]string
}

// DefaultBuildKitImage is the image of Jobs that name none: the one that Docker's
// own builder has. Which BuildKit it is pharos.lock says.
const DefaultBuildKitImage = "moby/buildkit:buildx-stable-1"

// pin fills in what a tree's pharos.lock says of the images of Jobs. One that cannot
// be read says nothing: whoever needs it reports that.
func pin(ctx context.Context, tree source.Tree, targets []Target) {
	for _, t := range targets {
		if t.BuildKit == nil || t.BuildKit.Job == nil || t.BuildKit.Job.Pinned != "" {
			continue
		}
		j := t.BuildKit.Job
		held, err := catalogue.LoadLock(ctx, tree)
		if digest := held.Images[j.Image]; err == nil && digest != "" {
			j.Pinned = j.Image + "@" + digest
		}
	}
}

// LockedReferences returns the references that the targets name and a pharos.lock has
// to hold, each with what uses it: "target devbox".
func LockedReferences(targets []Target) map[string][]string {
	all := map[string][]string{}
	for _, t := range targets {
		if t.BuildKit != nil && t.BuildKit.Job != nil && !pinned.MatchString(t.BuildKit.Job.Image) {
			all[t.BuildKit.Job.Image] = append(all[t.BuildKit.Job.Image], "target "+t.Name)
		}
	}
	return all
}

// unlocked is the error of a Job whose image nothing pins.
func (j *BuildKitJob) unlocked(target string) error {
	if j.Pinned != "" || pinned.MatchString(j.Image) {
		return nil
	}
	return &lifecycle.Error{
		Op: "build in Jobs of", On: "target " + target, Class: lifecycle.ErrSource,
		Err:    fmt.Errorf("the digest of their image %s (spec.buildkit.job.image) is in neither %s nor %s", j.Image, catalogue.FileName, catalogue.LockFileName),
		Advice: "Run kubectl pharos lock and commit " + catalogue.LockFileName + ", or name it by digest: " + j.Image + "@sha256:…",
	}
}

// BuildKitCache is where BuildKit keeps its cache between Jobs.
type BuildKitCache struct {
	// Claim is the name of a PersistentVolumeClaim; empty for none.
	Claim string
	// MaxSize is how much an image's cache may take, "20GB" or "50%"; empty for
	// BuildKit's default.
	MaxSize string
}

// BuildKitResources are resources by their names, "cpu" and "memory", in
// Kubernetes's quantities.
type BuildKitResources struct{ Requests, Limits map[string]string }

func parseBuildKit(n, git strictyaml.Node) *BuildKit {
	if !n.Present() {
		return nil
	}
	kinds := n.Map("job", "address", "runner")
	switch kinds.OneOf("job", "address", "runner") {
	case "job":
		job := kinds.Required("job")
		if !git.Present() {
			job.Errorf("needs spec.git: Jobs fetch what they build from there")
		}
		return &BuildKit{Job: parseJob(job)}
	case "address":
		return &BuildKit{Address: kinds.Required("address").String(checkAddress)}
	case "runner":
		runner := kinds.Required("runner").Map("address")
		return &BuildKit{Runner: &BuildKitRunner{Address: runner.Required("address").String(checkAddress)}}
	}
	return &BuildKit{}
}

func parseJob(n strictyaml.Node) *BuildKitJob {
	fields := n.Map("image", "cache", "registrySecret", "gitSecret", "buildSecret", "sshSecret", "resources", "nodeSelector")
	name := func(field string) string { return fields.Optional(field).String(checkSubdomain) }
	job := &BuildKitJob{
		Image:          cmp.Or(fields.Optional("image").String(checkImage), DefaultBuildKitImage),
		RegistrySecret: name("registrySecret"), GitSecret: name("gitSecret"), BuildSecret: name("buildSecret"), SSHSecret: name("sshSecret"),
		NodeSelector: fields.Optional("nodeSelector").StringMap(checkNodeLabel),
	}
	if cache := fields.Optional("cache"); cache.Present() {
		of := cache.Map("claim", "maxSize")
		job.Cache = BuildKitCache{Claim: of.Required("claim").String(checkSubdomain), MaxSize: of.Optional("maxSize").String(checkCacheSize)}
	}
	if resources := fields.Optional("resources"); resources.Present() {
		of := resources.Map("requests", "limits")
		job.Resources = BuildKitResources{Requests: parseQuantities(of.Optional("requests")), Limits: parseQuantities(of.Optional("limits"))}
	}
	if pinned.MatchString(job.Image) {
		job.Pinned = job.Image
	}
	return job
}

func parseQuantities(n strictyaml.Node) map[string]string {
	return n.StringMap(func(_, value string) error {
		if _, err := resource.ParseQuantity(value); err != nil {
			return fmt.Errorf("is %q, which is no quantity, such as 500m or 2Gi", value)
		}
		return nil
	})
}

func checkNodeLabel(key, value string) error {
	if err := kubernetes(key, validation.IsQualifiedName(key)); err != nil {
		return fmt.Errorf("the label %w", err)
	}
	return kubernetes(value, validation.IsValidLabelValue(value))
}

var (
	pinned    = lazyregexp.New(`^[^@\s]+@sha256:[0-9a-f]{64}$`)
	cacheSize = lazyregexp.New(`^[1-9][0-9]*(%|[KMGT]?B)$`)
)

func checkImage(s string) error {
	if _, err := reference.ParseNormalizedNamed(s); err != nil {
		return fmt.Errorf("is %q, which is no reference of an image, such as %s", s, DefaultBuildKitImage)
	}
	return nil
}

func checkCacheSize(s string) error {
	if !cacheSize.MatchString(s) {
		return errors.New("must be a size such as 20GB, or a share of the volume such as 50%")
	}
	return nil
}
