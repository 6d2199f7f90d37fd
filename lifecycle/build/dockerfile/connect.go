package dockerfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/moby/buildkit/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
	"github.com/pharos-dev/pharos/lifecycle"
)

// dialTimeout bounds how long a connection may take to be made.
const dialTimeout = 10 * time.Second

// checkAddress wants an address of a form that BuildKit listens on.
func checkAddress(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		err = errors.New("it cannot be read") // the parser quotes what may be a password
	case u.User != nil:
		err = errors.New("an address of BuildKit holds no user")
	case u.Scheme == "tcp" && u.Port() != "" && u.Path == "" && u.RawQuery == "":
		return nil
	case u.Scheme == "unix" && u.Host == "" && strings.HasPrefix(u.Path, "/"):
		return nil
	default:
		err = fmt.Errorf("%q is neither tcp://HOST:PORT nor unix:///PATH", address)
	}
	return fmt.Errorf("set up a connection to BuildKit: %w", err)
}

// connect makes a connection for the build of an image and asks for BuildKit's version.
func (d *daemon) connect(ctx context.Context, image string) (*client.Client, string, error) {
	options := []client.ClientOpt{client.WithContextDialer(dial)}
	if d.config.TLS != nil {
		options = append(options, client.WithGRPCDialOption(grpc.WithTransportCredentials(credentials.NewTLS(d.config.TLS.Clone()))))
	}
	c, err := client.New(ctx, d.config.Address, options...)
	if err != nil {
		return nil, "", d.unreachable(image, err)
	}
	// The first call makes the connection.
	info, err := c.Info(ctx)
	if err != nil {
		d.close(ctx, c)
		return nil, "", d.unreachable(image, err)
	}
	return c, cmp.Or(info.BuildkitVersion.Version, "unknown"), nil
}

// dial goes through no proxy, which gRPC's own dialer takes from the environment.
func dial(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	var d net.Dialer
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return d.DialContext(ctx, "unix", "/"+strings.TrimLeft(path, "/"))
	}
	return d.DialContext(ctx, "tcp", address)
}

func (d *daemon) close(ctx context.Context, c *client.Client) {
	if err := c.Close(); err != nil {
		d.log.DebugContext(ctx, "closing the connection to BuildKit", "error", err)
	}
}

func (d *daemon) unreachable(image string, err error) error {
	advice := fmt.Sprintf("Check that BuildKit (buildkitd) runs, and that %s is where it listens.", d.config.Address)
	if strings.Contains(err.Error(), "tls:") || strings.Contains(err.Error(), "x509:") || strings.Contains(err.Error(), "handshake") {
		advice = fmt.Sprintf("Check the certificates for BuildKit at %s: its own, and the client's.", d.config.Address)
	}
	return &lifecycle.Error{Op: "build image " + image + ": reach BuildKit", On: d.config.Address, Class: lifecycle.ErrUnreachable, Err: &connectError{err}, Advice: advice}
}

// connectError is an error of gRPC, which says only what the connection failed of.
type connectError struct{ err error }

// dialed is how gRPC begins and ends what the dialer said.
var dialed = lazyregexp.New(`desc = "transport: (?:Error while dialing: |authentication handshake failed: )?(.+)"$`)

func (e *connectError) Error() string {
	text := e.err.Error()
	if m := dialed.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return text
}

func (e *connectError) Unwrap() error { return e.err }
