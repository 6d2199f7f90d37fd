package transport

import (
	"crypto/sha1" //nolint:gosec // Git's own hash
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// inputsPrefix begins the names of the references of pruned trees.
const inputsPrefix = "refs/pharos/inputs/"

// Inputs is a pruned tree as it stands on a Git server.
type Inputs struct {
	Tree   source.ID
	Commit source.ID // see InputsCommit
	Ref    string    // see InputsRef
	// Sent says whether the server lacked it. It does not if somebody else
	// pushed it meanwhile.
	Sent bool
}

// InputsRef returns the name of the reference of a pruned tree:
// refs/pharos/inputs/<tree>.
func InputsRef(tree source.ID) string { return inputsPrefix + string(tree) }

// InputsCommit returns the ID of the commit of a pruned tree, see the package
// comment, SHA-1 or SHA-256 as the tree's.
func InputsCommit(tree source.ID) source.ID {
	return hashObject(format(tree), "commit", commitOf(tree, "The inputs of an image"))
}

func commitOf(tree source.ID, subject string) []byte {
	return fmt.Appendf(nil, "tree %s\nauthor Pharos <> 0 +0000\ncommitter Pharos <> 0 +0000\n\n%s\n", tree, subject)
}

// objectFormat is what git calls extensions.objectFormat.
type objectFormat string

const (
	formatSHA1   objectFormat = "sha1"
	formatSHA256 objectFormat = "sha256"
)

func format(id source.ID) objectFormat {
	if len(id) == 2*sha256.Size {
		return formatSHA256
	}
	return formatSHA1
}

func (f objectFormat) hash() hash.Hash {
	if f == formatSHA256 {
		return sha256.New()
	}
	return sha1.New() //nolint:gosec // Git's own hash
}

// emptyTree is the ID of the tree without entries.
func (f objectFormat) emptyTree() source.ID { return hashObject(f, "tree", nil) }

func hashObject(f objectFormat, kind string, content []byte) source.ID {
	h := f.hash()
	fmt.Fprintf(h, "%s %d\x00", kind, len(content))
	h.Write(content)
	return source.ID(hex.EncodeToString(h.Sum(nil)))
}
