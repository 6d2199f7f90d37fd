package dockerfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/pharos-dev/pharos/catalogue"
)

// layoutCheck reads an OCI layout (https://github.com/opencontainers/image-spec,
// image-layout.md) from an index down, and believes nothing.
type layoutCheck struct {
	dir       string
	platforms []string
	layers    map[v1.Hash]int64 // their sizes
	checked   map[v1.Hash]bool
}

// maxManifest bounds a manifest, as registries do.
const maxManifest = 4 << 20

func (l *layoutCheck) index(digest v1.Hash) error {
	raw, err := l.manifest(digest)
	if err != nil {
		return err
	}
	index, err := v1.ParseIndexManifest(bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("the index %s: %w", digest, err)
	}
	if !index.MediaType.IsIndex() {
		return fmt.Errorf("%s is no index but %q", digest, index.MediaType)
	}
	for _, m := range index.Manifests {
		if !m.MediaType.IsImage() || m.Platform == nil {
			return fmt.Errorf("the index names %s, which is no image of a platform but %q", m.Digest, m.MediaType)
		}
		l.platforms = append(l.platforms, platformName(*m.Platform))
		if err := l.image(m); err != nil {
			return err
		}
	}
	return nil
}

func (l *layoutCheck) image(m v1.Descriptor) error {
	raw, err := l.manifest(m.Digest)
	if err != nil {
		return err
	}
	if int64(len(raw)) != m.Size {
		return fmt.Errorf("the manifest %s has %d bytes, not %d", m.Digest, len(raw), m.Size)
	}
	manifest, err := v1.ParseManifest(bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("the manifest %s: %w", m.Digest, err)
	}
	for _, blob := range append([]v1.Descriptor{manifest.Config}, manifest.Layers...) {
		if err := l.blob(blob); err != nil {
			return err
		}
	}
	for _, layer := range manifest.Layers {
		l.layers[layer.Digest] = layer.Size
	}
	return nil
}

func (l *layoutCheck) manifest(digest v1.Hash) ([]byte, error) {
	f, err := l.open(digest)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	switch {
	case err != nil:
		return nil, err
	case len(raw) > maxManifest:
		return nil, fmt.Errorf("the manifest %s has more than %d bytes", digest, maxManifest)
	case sum(sha256.Sum256(raw)) != digest.Hex:
		return nil, differs(digest)
	}
	return raw, nil
}

func (l *layoutCheck) blob(d v1.Descriptor) error {
	if l.checked[d.Digest] {
		return nil
	}
	f, err := l.open(d.Digest)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	size, err := io.Copy(h, f)
	switch {
	case err != nil:
		return err
	case size != d.Size:
		return fmt.Errorf("the blob %s has %d bytes, not %d", d.Digest, size, d.Size)
	case sum([sha256.Size]byte(h.Sum(nil))) != d.Digest.Hex:
		return differs(d.Digest)
	}
	if l.checked == nil {
		l.checked = map[v1.Hash]bool{}
	}
	l.checked[d.Digest] = true
	return nil
}

func (l *layoutCheck) open(digest v1.Hash) (*os.File, error) {
	if digest.Algorithm != "sha256" {
		return nil, fmt.Errorf("%s is no SHA-256 digest", digest)
	}
	f, err := os.Open(filepath.Join(l.dir, "blobs", "sha256", digest.Hex))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing", digest)
	}
	return f, err
}

func sum(s [sha256.Size]byte) string { return hex.EncodeToString(s[:]) }

func differs(digest v1.Hash) error { return fmt.Errorf("the content of %s is another", digest) }

// platformName spells a platform as a catalogue does; BuildKit leaves out what
// goes without saying, or says it.
func platformName(p v1.Platform) string {
	return catalogue.Platform{OS: p.OS, Architecture: p.Architecture, Variant: p.Variant}.Normal().String()
}
