package registry_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/registry"
)

func newRegistry(t *testing.T, keychain authn.Keychain) *registry.Registry {
	t.Helper()
	r, err := registry.New(registry.Config{
		Insecure: true, Keychain: keychain,
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	registry.RestBriefly(r)
	return r
}

// proxied starts a registry behind a fault proxy.
func proxied(t *testing.T) *faultproxy.Proxy {
	t.Helper()
	p, err := faultproxy.Start("http://"+devtest.Registry(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// fingerprint is that of whatever the words name.
func fingerprint(words string) catalogue.Fingerprint {
	return catalogue.Fingerprint(fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(words))))
}

// newIndex is an index of random images; a platform "unknown/unknown" stands for
// an attestation.
func newIndex(t *testing.T, platforms ...string) v1.ImageIndex {
	t.Helper()
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, name := range platforms {
		img, err := random.Image(256, 2)
		if err != nil {
			t.Fatal(err)
		}
		p, err := v1.ParsePlatform(name)
		if err != nil {
			t.Fatal(err)
		}
		img, err = mutate.ConfigFile(img, &v1.ConfigFile{
			OS: p.OS, Architecture: p.Architecture, Variant: p.Variant, RootFS: rootFS(t, img),
		})
		if err != nil {
			t.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: p}})
	}
	return index
}

func rootFS(t *testing.T, img v1.Image) v1.RootFS {
	t.Helper()
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	return config.RootFS
}

func push(t *testing.T, r *registry.Registry, repository string, index v1.ImageIndex, fp catalogue.Fingerprint) lifecycle.Digest {
	t.Helper()
	digest, err := r.Push(t.Context(), repository, index, fp)
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// wantError checks an error's class and that it says, and does not say, some words.
func wantError(t *testing.T, err, class error, words ...string) {
	t.Helper()
	var e *lifecycle.Error
	if !errors.As(err, &e) || !errors.Is(err, class) {
		t.Fatalf("got the error %v, want a *lifecycle.Error that is %q", err, class)
	}
	for _, w := range words {
		if unwanted, ok := strings.CutPrefix(w, "!"); ok == strings.Contains(err.Error(), unwanted) {
			t.Errorf("the error %q and the words %q do not go together", err, w)
		}
	}
}

// closedPort is an address that nobody listens on.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}
