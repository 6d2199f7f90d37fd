package lifecycle

import (
	"context"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
)

// Registry answers for images. Implementations are safe for concurrent use.
type Registry interface {
	// Has asks with one request whether the registry has the image index of that
	// digest, and reads nothing of it. The error matches ErrImageNotFound if the
	// repository does not have it.
	Has(ctx context.Context, repository string, digest Digest) error
	// Verify asks for the index and for all that it names. The error matches
	// ErrImageNotFound if any of it is missing, and says what.
	Verify(ctx context.Context, repository string, digest Digest) (RegistryImage, error)
	// Find looks for an image of that fingerprint in a repository and trusts
	// the annotation on the index alone, never the tag it was found by. It
	// verifies what it finds. The error matches ErrImageNotFound if there is
	// none.
	Find(ctx context.Context, repository string, fp catalogue.Fingerprint) (RegistryImage, error)
	// Keep gives the image index of that digest the tag DigestTag, unless it has
	// it: others may move the tag of its fingerprint, and what has no tag cannot
	// be listed, and is garbage to many registries. The error matches
	// ErrImageNotFound if the repository does not have it.
	Keep(ctx context.Context, repository string, digest Digest) error
	// List returns what tags lead to in a repository, sorted by digest: nothing
	// if the registry does not know the repository. What no tag leads to cannot
	// be listed.
	List(ctx context.Context, repository string) ([]StoredImage, error)
	// Stored is what List says of a digest, but for its tags: for one that no tag
	// leads to. The error matches ErrImageNotFound if the repository does not have
	// it.
	Stored(ctx context.Context, repository string, digest Digest) (StoredImage, error)
	// Delete deletes what has that digest and the tags that lead to it. The
	// error matches ErrImageNotFound if it is not there.
	Delete(ctx context.Context, repository string, image StoredImage) error
}

// RegistryImage is an image index as the registry holds it.
type RegistryImage struct {
	Digest      Digest
	Platforms   []string              // sorted
	Fingerprint catalogue.Fingerprint // its annotation, empty if it has none
	Toolchain   string                // its annotation: what built it, empty if it has none
}

// StoredImage is something that tags of a repository lead to.
type StoredImage struct {
	Digest Digest
	Tags   []string // sorted
	// Fingerprint is the annotation of an index that Pharos built, else empty.
	Fingerprint catalogue.Fingerprint
	// Parts are the digests of all manifests that an index names, and the indexes
	// in it, sorted.
	Parts []Digest
}

// FingerprintTag is the tag that an image of a fingerprint is found by: "fp-" and
// the fingerprint's 64 digits. It proves nothing: anyone can move a tag.
func FingerprintTag(fp catalogue.Fingerprint) string {
	return "fp-" + strings.TrimPrefix(string(fp), "sha256:")
}

// DigestTag is the tag that an image has of its own, beside that of its fingerprint:
// "d-" and the digest's 64 digits. Builds of one fingerprint may have several
// digests, and FingerprintTag leads to one of them only.
func DigestTag(d Digest) string {
	return "d-" + strings.TrimPrefix(string(d), "sha256:")
}
