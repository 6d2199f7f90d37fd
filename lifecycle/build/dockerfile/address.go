package dockerfile

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/session"
	"github.com/moby/buildkit/session/secrets/secretsprovider"
	spb "github.com/moby/buildkit/sourcepolicy/pb"
	"github.com/tonistiigi/fsutil"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
)

// AddressConfig says where a BuildKit is, and what it may have for a build.
type AddressConfig struct {
	// Address is tcp://HOST:PORT or unix:///PATH. It is required.
	Address string
	// TLS secures a tcp address, and holds the client's certificate if BuildKit
	// asks for one. The default is no TLS: whoever reaches such an address may
	// use BuildKit, and reads what is sent to it.
	TLS *tls.Config
	// Keychain finds the credentials for the registries that a build pulls from
	// and pushes to. BuildKit asks for those of these hosts during the build, and
	// for no others. The default has none.
	Keychain authn.Keychain
	// Insecure lets BuildKit push over plain HTTP, or without checking
	// certificates. Where it may pull from so is its own configuration's to say.
	// The default refuses it.
	Insecure bool
	// InsecureHosts are hosts, "localhost:5000", for which alone Insecure holds.
	// The default is none.
	InsecureHosts []string
	// Secret returns the value of a secret, of at most 500 KiB, by its id. The
	// error is to match ErrNotSupplied if there is none of that id. It is called
	// before a build, for the secrets that the recipe declares; values go to
	// BuildKit alone, when a step mounts them, and are blacked out in what the
	// build prints. The default supplies none.
	Secret func(ctx context.Context, id string) ([]byte, error)
	// SSH are the sockets of SSH agents, by the ids that recipes use. A build may
	// sign with an agent's keys, and change nothing in it. The default is none.
	SSH map[string]string
	// Log receives, at level debug, what is asked of BuildKit. The default
	// discards it.
	Log *slog.Logger
}

// ErrNotSupplied is matched by the error of an AddressConfig.Secret that has no
// secret of that id.
var ErrNotSupplied = errors.New("not supplied")

// Address is the Backend that has a BuildKit at an address build and push. It is
// safe for concurrent use; each build has a connection of its own.
type Address struct{ daemon }

var _ Backend = (*Address)(nil)

// NewAddress returns the backend of a BuildKit. It fails if the address is not
// one. Nothing is connected yet.
func NewAddress(c AddressConfig) (*Address, error) {
	d, err := newDaemon(c)
	return &Address{d}, err
}

// Solve implements Backend. BuildKit pushes by itself, with credentials that it
// is given through the connection.
func (a *Address) Solve(ctx context.Context, s Solve) (Solved, error) {
	given, err := a.supplies(ctx, s)
	if err != nil {
		return Solved{}, err
	}
	c, version, err := a.connect(ctx, s.Image)
	if err != nil {
		return Solved{}, err
	}
	defer a.close(ctx, c)
	attributes := s.Exporter(version)
	if a.insecure(hostOf(s.Repository)) {
		attributes["registry.insecure"] = strconv.FormatBool(true)
	}
	digest, err := a.solve(ctx, c, s, given, request{export: client.ExportEntry{Type: client.ExporterImage, Attrs: attributes}})
	return Solved{Digest: digest, Version: version}, err
}

// daemon is what both ways of reaching a BuildKit share.
type daemon struct {
	config AddressConfig
	log    *slog.Logger
}

func newDaemon(c AddressConfig) (daemon, error) {
	if err := checkAddress(c.Address); err != nil {
		return daemon{}, err
	}
	if c.Keychain == nil {
		c.Keychain = authn.NewMultiKeychain()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return daemon{config: c, log: c.Log}, nil
}

// insecure says whether plain HTTP is allowed on a host.
func (d *daemon) insecure(host string) bool {
	return d.config.Insecure || slices.ContainsFunc(d.config.InsecureHosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// request is what BuildKit is asked for, beside a Solve.
type request struct {
	export client.ExportEntry
	// images replace those named contexts that BuildKit cannot pull.
	images *localImages
}

// solve runs one build and returns the digest of the index.
func (d *daemon) solve(ctx context.Context, c *client.Client, s Solve, given *supplies, r request) (lifecycle.Digest, error) {
	policy := &spb.Policy{}
	if err := json.Unmarshal(s.Policy, policy); err != nil {
		return "", fmt.Errorf("read the source policy: %w", err)
	}
	files := newContextFS(ctx, s.Inputs, s.Epoch)
	defer files.readAhead(ctx)()
	frontend, attributes := s.Attributes()
	options := client.SolveOpt{
		Exports:       []client.ExportEntry{r.export},
		LocalMounts:   map[string]fsutil.FS{"context": files, "dockerfile": files},
		SharedKey:     sharedKey(s.Repository),
		Frontend:      frontend,
		FrontendAttrs: attributes,
		SourcePolicy:  policy,
		Session: []session.Attachable{
			&keychain{of: d.config.Keychain, hosts: s.hosts()},
			secretsprovider.FromMap(given.secrets),
		},
	}
	if given.agents != nil {
		options.Session = append(options.Session, given.agents)
	}
	if r.images != nil {
		maps.Copy(options.FrontendAttrs, r.images.contexts)
		options.OCIStores = r.images.stores
	}
	printed := newProgress(s.Output, given.masked)
	// The client closes it when the build is over.
	statuses := make(chan *client.SolveStatus)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for status := range statuses {
			printed.show(status)
		}
	}()
	d.log.DebugContext(ctx, "asking BuildKit to build", "image", s.Image, "frontend", frontend, "address", d.config.Address)
	response, err := c.Solve(ctx, nil, options, statuses)
	<-done
	printed.flush()
	if err != nil {
		return "", failure(err, printed)
	}
	digest := lifecycle.Digest(response.ExporterResponse["containerimage.digest"])
	if !byDigest("@" + string(digest)) {
		return "", fmt.Errorf("BuildKit does not say what digest the image has, but %q", digest)
	}
	return digest, nil
}

// sharedKey is by which BuildKit finds what an earlier build of the image sent:
// files that are the same as then are not sent again.
func sharedKey(repository string) string { return keys.Manager + "/" + repository }
