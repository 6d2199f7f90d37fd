package ephemeral

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// beat says that the namespace is in use, four times in a TTL: three of them may fail.
// It ends with ctx, or when there is nothing left to keep.
func (s *Space) beat(ctx context.Context) {
	for pause(ctx, s.o.TTL/4) {
		m, err := s.client.touch(ctx, s.Name, s.uid)
		switch {
		case ctx.Err() != nil:
			return
		case kubeclient.NotFound(err), apierrors.IsInvalid(err) && s.gone(ctx):
			s.o.Log.Warn("the namespace was deleted while it was in use", "namespace", s.Name)
			return
		case err != nil:
			s.o.Log.Warn("a heartbeat failed", "namespace", s.Name, "error", err)
		case m.DeletionTimestamp != nil:
			s.o.Log.Warn("the namespace is being deleted while it is in use", "namespace", s.Name)
			return
		}
	}
}

// gone says whether there is no namespace of this name and UID any more.
func (s *Space) gone(ctx context.Context) bool {
	_, err := s.look(ctx)
	return errors.Is(err, errGone)
}
