package dockerfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/moby/buildkit/session"
	"github.com/moby/buildkit/session/auth"
	"github.com/moby/buildkit/session/sshforward/sshprovider"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pharos-dev/pharos/lifecycle"
)

// keychain answers when BuildKit asks how to log in to a registry. It knows
// those that the build is about, and no others.
type keychain struct {
	auth.UnimplementedAuthServer
	of    authn.Keychain
	hosts []string
}

var _ session.Attachable = (*keychain)(nil)

// Register implements session.Attachable.
func (c *keychain) Register(server *grpc.Server) { auth.RegisterAuthServer(server, c) }

// dockerHub is the host that BuildKit asks for where references say docker.io.
const dockerHub = "registry-1.docker.io"

// Credentials implements BuildKit's service moby.filesync.v1.Auth.
func (c *keychain) Credentials(ctx context.Context, r *auth.CredentialsRequest) (*auth.CredentialsResponse, error) {
	host := r.Host
	if host == dockerHub {
		host = "docker.io"
	}
	if !slices.Contains(c.hosts, host) {
		return &auth.CredentialsResponse{}, nil
	}
	registry, err := name.NewRegistry(host)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	found, err := authn.Resolve(ctx, c.of, registry)
	if err != nil {
		return nil, status.Errorf(codes.Unavailable, "the credentials for %s cannot be read", host)
	}
	config, err := authn.Authorization(ctx, found)
	if err != nil {
		return nil, status.Errorf(codes.Unavailable, "the credentials for %s cannot be read", host)
	}
	if config.IdentityToken != "" {
		// An empty user says that the secret is a token for the OAuth2 endpoint.
		return &auth.CredentialsResponse{Secret: config.IdentityToken}, nil
	}
	return &auth.CredentialsResponse{Username: config.Username, Secret: config.Password}, nil
}

// supplies are the secrets and SSH agents of one build.
type supplies struct {
	secrets map[string][]byte
	agents  session.Attachable // nil if there are none
	// masked are the secrets' values.
	masked [][]byte
}

// Supplied implements Supplier.
func (d *daemon) Supplied(ctx context.Context, secrets, ssh []string) error {
	_, err := d.supplies(ctx, Solve{Secrets: secrets, SSH: ssh})
	return err
}

// supplies looks for all that a recipe declares.
func (d *daemon) supplies(ctx context.Context, s Solve) (*supplies, error) {
	given := &supplies{secrets: map[string][]byte{}}
	lacking := &NotSuppliedError{}
	for _, id := range s.Secrets {
		value, err := d.secret(ctx, id)
		switch {
		case errors.Is(err, ErrNotSupplied):
			lacking.Secrets = append(lacking.Secrets, id)
		case err != nil:
			return nil, &lifecycle.Error{Op: "read secret", On: id, Err: err}
		default:
			given.secrets[id] = value
		}
	}
	var agents []sshprovider.AgentConfig
	for _, id := range s.SSH {
		socket := d.config.SSH[id]
		if socket == "" {
			lacking.SSH = append(lacking.SSH, id)
			continue
		}
		if info, err := os.Stat(socket); err != nil || info.Mode()&fs.ModeSocket == 0 {
			// A file would be read as a key.
			return nil, &lifecycle.Error{Op: "reach SSH agent", On: id, Err: fmt.Errorf("%s is no socket", socket), Advice: "Check that the agent runs, and where it listens (SSH_AUTH_SOCK)."}
		}
		agents = append(agents, sshprovider.AgentConfig{ID: id, Paths: []string{socket}})
	}
	if len(lacking.Secrets)+len(lacking.SSH) > 0 {
		lacking.Advice = lacking.flags()
		return nil, lacking
	}
	if len(agents) > 0 {
		var err error
		if given.agents, err = sshprovider.NewSSHAgentProvider(agents); err != nil {
			return nil, &lifecycle.Error{Op: "reach SSH agents", On: s.Image, Err: err}
		}
	}
	given.masked = slices.Collect(maps.Values(given.secrets))
	return given, nil
}

func (d *daemon) secret(ctx context.Context, id string) ([]byte, error) {
	if d.config.Secret == nil {
		return nil, ErrNotSupplied
	}
	return d.config.Secret(ctx, id)
}
