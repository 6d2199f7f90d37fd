package dockerfile

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
)

// Backend is a way to reach BuildKit. Implementations are safe for concurrent
// use.
type Backend interface {
	// Solve has BuildKit build an image, and has it in the registry when it
	// returns. Nothing that it started is left then but BuildKit's cache.
	//
	// The error of a build that BuildKit has tried is a *SolveError. If secrets
	// or SSH agents are not there, it is a *NotSuppliedError, before anything
	// was sent. If BuildKit cannot be reached it is a *lifecycle.Error that
	// matches lifecycle.ErrUnreachable. If ctx ends it may be any: the builder
	// returns ctx's cause.
	Solve(ctx context.Context, s Solve) (Solved, error)
}

// Solve is one image for BuildKit to build. Neither its maps nor its slices may
// be modified by a Backend.
type Solve struct {
	// Image is the image's name in the catalogue, for people.
	Image       string
	Fingerprint catalogue.Fingerprint
	// Inputs is the pruned tree: the context, and nothing else is to be in it.
	// The Dockerfile lies in it.
	Inputs source.Tree
	// Frontend is the image that reads the Dockerfile, as a reference by digest.
	// If it is empty, BuildKit's own frontend does. See Attributes.
	Frontend string
	// Options are the attributes for the frontend, as "buildctl build --opt"
	// takes them: filename, target, platform, multi-platform, build-arg:NAME,
	// context:NAME and cmdline. No secret is among them.
	Options map[string]string
	// Pins are the images that the build uses, and Options and Policy hold it to
	// them.
	Pins []Pin
	// Policy is a source policy in JSON, as "buildctl build --source-policy-file"
	// takes it. It turns the references of Pins into theirs by digest wherever
	// they appear, and refuses every image that is not named by digest.
	Policy []byte
	// Platforms are those that the result has to have, sorted.
	Platforms []string
	// Epoch is the build argument SOURCE_DATE_EPOCH, in seconds since 1970. It is
	// not in the future, and the exporter sets later times to it, so no file of
	// the context is to be older.
	Epoch int64
	// BasePlatforms are those that bases are used for, sorted. Ones that FROM
	// --platform names need not be among Platforms; one that only BuildKit knows, as
	// $BUILDPLATFORM, is left out.
	BasePlatforms []string
	// Repository and Tag are where to push to, "localhost:5000/dev/web" and
	// "fp-…".
	Repository, Tag string
	// Annotations are for the image index. A Backend adds keys.Toolchain, with
	// Toolchain's value, if it knows the version of BuildKit before it builds.
	Annotations map[string]string
	// Secrets and SSH are the ids of the secrets and SSH agents that the recipe
	// declares, sorted. A Backend has their values from elsewhere.
	Secrets, SSH []string
	// Output receives what the build prints, in lines; it is not nil, and is
	// written to by one goroutine at a time.
	Output io.Writer
}

// Pin says which image a reference in a Dockerfile stands for.
type Pin struct {
	// Reference is written in the Dockerfile: "alpine:3", or the name of an
	// image of the catalogue.
	Reference string
	// Image is the reference by digest that stands for it.
	Image string
}

// Solved is an image that was built and pushed.
type Solved struct {
	// Digest is that of the image index, from BuildKit's own answer.
	Digest lifecycle.Digest
	// Version is BuildKit's, such as "v0.34.2"; empty if it does not say.
	Version string
	// Size is how many bytes the compressed layers of all platforms have. If it
	// is 0, the builder asks the registry.
	Size int64
}

// Toolchain says of a version of BuildKit what built an image, in the
// annotation keys.Toolchain and in lifecycle.BuildResult.
func Toolchain(version string) string { return strings.TrimSpace("buildkit " + version) }

// Attributes returns the frontend that BuildKit is to use, as "buildctl build
// --frontend" takes it, and all attributes for it.
func (s Solve) Attributes() (frontend string, attributes map[string]string) {
	attributes = map[string]string{}
	maps.Copy(attributes, s.Options)
	if s.Frontend == "" {
		return "dockerfile.v0", attributes
	}
	attributes["source"] = s.Frontend
	return "gateway.v0", attributes
}

// Exporter returns the attributes for BuildKit's image exporter (type=image), as
// "buildctl build --output" takes them, without registry.insecure. The same
// inputs give the same bytes by them: times are set to the epoch, media types
// are fixed, and no attestation is added. version is that of BuildKit, if it is
// known.
func (s Solve) Exporter(version string) map[string]string {
	attributes := s.exporter(version)
	attributes["name"] = s.Repository + ":" + s.Tag
	attributes["push"] = strconv.FormatBool(true)
	return attributes
}

// exporter is what image and layout exporters have in common.
func (s Solve) exporter(version string) map[string]string {
	attributes := map[string]string{
		"oci-mediatypes":    strconv.FormatBool(true),
		"compression":       "gzip",
		"rewrite-timestamp": strconv.FormatBool(true),
	}
	for key, value := range s.annotations(version) {
		attributes["annotation-index."+key] = value
	}
	return attributes
}

// annotations are those of the index.
func (s Solve) annotations(version string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, s.Annotations)
	if version != "" {
		all[keys.Toolchain] = Toolchain(version)
	}
	return all
}

// SolveError is what BuildKit says of a build that failed. What of it is not
// known is empty.
type SolveError struct {
	// File and Line are of the instruction that failed; lines count from 1.
	File string
	Line int
	// Step is what BuildKit calls the step that failed: "[build 2/4] RUN make".
	Step string
	// Output is the end of what the step printed.
	Output string
	// Err is BuildKit's error. If it is one of buildctl, it holds the line that
	// begins with "error: ".
	Err error
}

// Error is BuildKit's own message.
func (e *SolveError) Error() string { return "BuildKit: " + e.Err.Error() }

// Unwrap returns BuildKit's error.
func (e *SolveError) Unwrap() error { return e.Err }

// NotSuppliedError names the secrets and SSH agents that a recipe declares and
// that nobody supplied.
type NotSuppliedError struct {
	Secrets, SSH []string // ids, sorted
	// Advice is how the backend is given them, in a line; may be empty.
	Advice string
}

// flags are those of kubectl pharos that supply what is not there.
func (e *NotSuppliedError) flags() string {
	var flags []string
	for _, id := range e.Secrets {
		flags = append(flags, "--secret id="+id+",src=FILE (or env=NAME)")
	}
	for _, id := range e.SSH {
		flags = append(flags, "--ssh "+id+"=SOCKET")
	}
	return "Supply it with " + strings.Join(flags, ", ")
}

// Error names them all.
func (e *NotSuppliedError) Error() string {
	var parts []string
	if n := len(e.Secrets); n > 0 {
		parts = append(parts, plural(n, "secret", "secrets")+" "+strings.Join(e.Secrets, ", "))
	}
	if n := len(e.SSH); n > 0 {
		parts = append(parts, plural(n, "SSH agent", "SSH agents")+" "+strings.Join(e.SSH, ", "))
	}
	verb := plural(len(e.Secrets)+len(e.SSH), "is", "are")
	return "the " + strings.Join(parts, " and the ") + " " + verb + " declared and not supplied"
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// hosts are the registries that a build may need to log in to.
func (s Solve) hosts() []string {
	refs := []string{s.Repository, s.Frontend}
	for _, p := range s.Pins {
		refs = append(refs, p.Image)
	}
	var hosts []string
	for _, ref := range refs {
		if ref != "" {
			hosts = append(hosts, hostOf(ref))
		}
	}
	slices.SortFunc(hosts, cmp.Compare[string])
	return slices.Compact(hosts)
}
