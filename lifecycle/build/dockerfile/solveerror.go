package dockerfile

import (
	"errors"

	"github.com/moby/buildkit/solver/errdefs"
	digest "github.com/opencontainers/go-digest"
)

// failure gives the error of BuildKit's client, which carries where in the
// Dockerfile it happened and in which step, the package's form.
func failure(err error, printed *progress) error {
	failed := &SolveError{Err: maskedError{printed.mask.Replace(err.Error()), err}}
	if sources := errdefs.Sources(err); len(sources) > 0 {
		// The last one is the outermost: the Dockerfile's.
		at := sources[len(sources)-1]
		if at.Info != nil {
			failed.File = at.Info.Filename
		}
		if len(at.Ranges) > 0 && at.Ranges[0].Start != nil {
			failed.Line = int(at.Ranges[0].Start.Line)
		}
	}
	step := printed.failed
	if vertex, ok := errors.AsType[*errdefs.VertexError](err); ok {
		if at := printed.steps[digest.Digest(vertex.Digest)]; at != nil {
			step = at
		}
	}
	if step != nil {
		failed.Step, failed.Output = printed.mask.Replace(step.name), step.tail()
	}
	return failed
}

// maskedError is an error whose text holds no secret.
type maskedError struct {
	text string
	err  error
}

func (e maskedError) Error() string { return e.text }
func (e maskedError) Unwrap() error { return e.err }
