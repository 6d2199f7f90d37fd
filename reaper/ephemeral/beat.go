package ephemeral

import (
	"context"
	"errors"

	"github.com/pharos-dev/pharos/reaper"
)

// beat says that the namespace is in use, four times in a TTL: three of them may fail.
// It ends with ctx, or when there is nothing left to keep.
func (s *Space) beat(ctx context.Context) {
	ref := reaper.Ref{Version: "v1", Resource: "namespaces", Kind: "Namespace", Name: s.Name, UID: string(s.uid)}
	for pause(ctx, s.o.TTL/4) {
		_, err := s.client.reap.Touch(ctx, ref, reaper.Change{})
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return
		case errors.Is(err, reaper.ErrGone), errors.Is(err, reaper.ErrEnding):
			s.o.Log.Warn("the namespace ended while it was in use", "namespace", s.Name, "error", err)
			return
		default:
			s.o.Log.Warn("a heartbeat failed", "namespace", s.Name, "error", err)
		}
	}
}
