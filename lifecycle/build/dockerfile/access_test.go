package dockerfile_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
)

// login is a keychain that knows one registry, and remembers what it was asked.
type login struct {
	host string
	mu   sync.Mutex
	seen []string
}

const password = "open sesame"

func (l *login) Resolve(r authn.Resource) (authn.Authenticator, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, r.RegistryStr())
	if r.RegistryStr() != l.host {
		return authn.Anonymous, nil
	}
	return &authn.Basic{Username: "ada", Password: password}, nil
}

// lockedRegistry is a registry that wants a password.
func lockedRegistry(t *testing.T) string {
	t.Helper()
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, given, _ := r.BasicAuth(); user != "ada" || given != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="here"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// BuildKit is given the credentials for the registry that it pushes to, through
// the connection, and asks for no others.
func TestLogin(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.host = lockedRegistry(t)
	chain := &login{host: f.host}
	f.keychain = chain
	f.connect(func(c *dockerfile.AddressConfig) { c.Keychain = chain })
	r := f.request(project{files: map[string]string{"Dockerfile": "FROM scratch\nCOPY Dockerfile /\n"}})
	res := f.build(r)
	if len(f.content(res)) != 1 {
		t.Error("the image does not hold the Dockerfile")
	}
	chain.mu.Lock()
	defer chain.mu.Unlock()
	if slices.ContainsFunc(chain.seen, func(host string) bool { return host != f.host }) {
		t.Errorf("credentials were asked for %q", chain.seen)
	}

	f.connect()
	_, err := f.Build(t.Context(), r)
	failed, ok := errors.AsType[*lifecycle.Error](err)
	if !ok || !errors.Is(err, lifecycle.ErrUnreachable) || !strings.Contains(failed.Advice, "Log in") || strings.Contains(err.Error(), password) {
		t.Errorf("without a password: %v", err)
	}
}

// certificates makes an authority, and certificates of it for 127.0.0.1 and for a
// client, in files.
func certificates(t *testing.T) (dir string, client *tls.Config) {
	t.Helper()
	dir = t.TempDir()
	template := func(name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, BasicConstraintsValid: true, IsCA: name == "ca",
		}
	}
	write := func(name, kind string, content []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	authority, authorityKey := template("ca"), (*ecdsa.PrivateKey)(nil)
	for _, name := range []string{"ca", "server", "client"} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if authorityKey == nil {
			authorityKey = key
		}
		cert, err := x509.CreateCertificate(rand.Reader, template(name), authority, key.Public(), authorityKey)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		write(name+".crt", "CERTIFICATE", cert)
		write(name+".key", "PRIVATE KEY", raw)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "client.crt"), filepath.Join(dir, "client.key"))
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	client = &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: x509.NewCertPool()}
	client.RootCAs.AppendCertsFromPEM(ca)
	return dir, client
}

func TestTLS(t *testing.T) {
	t.Parallel()
	dir, client := certificates(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "tcp://" + listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	f := fixtureOn(t, devtest.OwnBuildKit(t, devenv.BuildKitOptions{Args: []string{
		"--addr=" + address, "--tlscert=" + file("server.crt"), "--tlskey=" + file("server.key"), "--tlscacert=" + file("ca.crt"),
	}}))
	r := f.request(project{files: map[string]string{"Dockerfile": "FROM scratch\nCOPY Dockerfile /\n"}})
	f.connect(func(c *dockerfile.AddressConfig) { c.Address, c.TLS = address, client })
	f.build(r)
	for name, config := range map[string]*tls.Config{
		"no TLS": nil, "no certificate": {RootCAs: client.RootCAs}, "an unknown authority": {Certificates: client.Certificates, RootCAs: x509.NewCertPool()},
	} {
		f.connect(func(c *dockerfile.AddressConfig) { c.Address, c.TLS = address, config })
		if _, err := f.Build(context.WithoutCancel(t.Context()), r); !errors.Is(err, lifecycle.ErrUnreachable) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
