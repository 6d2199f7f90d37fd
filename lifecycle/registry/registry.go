package registry

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/pharos-dev/pharos/lifecycle"
)

// Config says how registries are reached.
type Config struct {
	// Keychain finds the credentials for a repository. The default has none:
	// every request is anonymous. authn.DefaultKeychain, which reads what
	// "docker login" wrote, does not end with a context.
	Keychain authn.Keychain
	// Insecure allows plain HTTP, on every host, where a registry does not
	// speak HTTPS. The default refuses it, on loopback and private addresses too.
	Insecure bool
	// InsecureHosts are hosts, "localhost:5000", on which alone plain HTTP is
	// allowed in that way. The default is none.
	InsecureHosts []string
	// Transport carries the requests. The default goes through no proxy, gives
	// a connection 30 s and an answer, once all of a request is sent, 2 min. To
	// use the proxies that the environment names, clone http.DefaultTransport.
	Transport http.RoundTripper
	// Log receives, at level debug, what is tried again and why. The default
	// discards it.
	Log *slog.Logger
}

// Registry reads and writes images. It is safe for concurrent use.
type Registry struct {
	keychain  authn.Keychain
	transport *guard
	puller    *remote.Puller
	log       *slog.Logger
	retry     retry
}

var _ lifecycle.Registry = (*Registry)(nil)

const (
	// pullJobs is how many blobs of one pull are read at once.
	pullJobs = 16
	// pushJobs is how many blobs of one push are sent at once.
	pushJobs = 4
	// verifyJobs is how many blobs of one image are asked for at once.
	verifyJobs = 4

	dialTimeout   = 30 * time.Second
	answerTimeout = 2 * time.Minute
)

// New returns a Registry. It sends nothing yet.
func New(c Config) (*Registry, error) {
	if c.Keychain == nil {
		c.Keychain = authn.NewMultiKeychain()
	}
	if c.Transport == nil {
		c.Transport = defaultTransport()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	r := &Registry{
		keychain:  c.Keychain,
		transport: &guard{inner: c.Transport, insecure: c.Insecure, hosts: lower(c.InsecureHosts)},
		log:       c.Log,
		retry:     defaultRetry,
	}
	var err error
	if r.puller, err = remote.NewPuller(r.options(pullJobs)...); err != nil {
		return nil, fmt.Errorf("set up a registry client: %w", err)
	}
	return r, nil
}

func defaultTransport() http.RoundTripper {
	return &http.Transport{
		DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          100,
		MaxIdleConnsPerHost:   50,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		ResponseHeaderTimeout: answerTimeout,
	}
}

// options turns off the retries of go-containerregistry, which sleep through
// the end of a context: whole operations are tried again instead.
func (r *Registry) options(jobs int) []remote.Option {
	return []remote.Option{
		remote.WithAuthFromKeychain(r.keychain),
		remote.WithTransport(r.transport),
		remote.WithRetryBackoff(remote.Backoff{Steps: 1}),
		remote.WithRetryStatusCodes(),
		remote.WithJobs(jobs),
		remote.WithUserAgent("pharos"),
	}
}

func lower(hosts []string) []string {
	hosts = slices.Clone(hosts)
	for i, host := range hosts {
		hosts[i] = strings.ToLower(host)
	}
	return hosts
}

// nameOptions are those of a name on a host. Without them, HTTPS alone is tried,
// but where go-containerregistry takes plain HTTP for granted; see guard.
func (r *Registry) nameOptions(host string) []name.Option {
	if r.transport.allows(host) {
		return []name.Option{name.Insecure}
	}
	return nil
}

func (r *Registry) repository(op, repository string) (name.Repository, error) {
	repo, err := name.NewRepository(repository)
	if err == nil {
		repo, err = name.NewRepository(repository, r.nameOptions(repo.RegistryStr())...)
	}
	if err != nil {
		return repo, badName(op, repository, err)
	}
	return repo, nil
}

// pinned is a reference by digest.
func (r *Registry) pinned(op, reference string) (name.Digest, error) {
	ref, err := name.NewDigest(reference)
	if err == nil {
		ref, err = name.NewDigest(reference, r.nameOptions(ref.RegistryStr())...)
	}
	if err != nil {
		return ref, badName(op, reference, err)
	}
	return ref, nil
}

// badName leaves out what stands before an "@" in a host: it may be a password.
func badName(op, ref string, err error) error {
	host, _, _ := strings.Cut(ref, "/")
	if i := strings.LastIndex(host, "@"); i >= 0 && !strings.HasPrefix(host[i:], "@sha") {
		ref, err = "…"+ref[i:], fmt.Errorf("an image name holds no user and no password")
	}
	return &lifecycle.Error{
		Op: op, On: ref, Class: lifecycle.ErrSource, Err: err,
		Advice: `A repository is a host and a path, such as "localhost:5000/dev/api".`,
	}
}
