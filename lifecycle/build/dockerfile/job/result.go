package job

import (
	"errors"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
)

var (
	resultDigest  = lazyregexp.New(`(?m)^\s*"containerimage\.digest":\s*"(sha256:[0-9a-f]{64})",?\s*$`)
	resultVersion = lazyregexp.New(`(?m)^version ([A-Za-z0-9.+-]+)$`)
)

// parseResult reads the termination message of a build that succeeded: BuildKit's
// version, and of the metadata file of buildctl the line with the digest. Anything
// else in it is ignored.
func parseResult(message string) (dockerfile.Solved, error) {
	digests := resultDigest.FindAllStringSubmatch(message, -1)
	if len(digests) != 1 {
		return dockerfile.Solved{}, errors.New("BuildKit's metadata does not say what digest the image has")
	}
	solved := dockerfile.Solved{Digest: lifecycle.Digest(digests[0][1])}
	if version := resultVersion.FindStringSubmatch(message); version != nil {
		solved.Version = version[1]
	}
	return solved, nil
}
