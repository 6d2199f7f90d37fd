package kube_test

import (
	"errors"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/receipt"
	"github.com/pharos-dev/pharos/receipt/kube"
)

// applied is a store whose API server answers the first times, or always if that
// is 0, that changed pointers are in conflict, and which has pointers.
func applied(t *testing.T, times int) (*kube.Store, receipt.Pointers, *faultproxy.Fault) {
	t.Helper()
	c := devtest.Cluster(t)
	config, fault := faulty(t, c.Config(), faultproxy.Rule{
		Match: func(r *http.Request) bool { return r.Method == http.MethodPatch }, Times: times, Do: faultproxy.Answer(http.StatusConflict),
	})
	s := open(t, config, devtest.Namespace(t, c), "devbox")
	id, err := s.Put(t.Context(), record("devbox", 1))
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.SetPointers(t.Context(), receipt.Pointers{}, receipt.Pointers{Applied: id})
	if err != nil {
		t.Fatal(err)
	}
	return s, p, fault
}

// A server may answer with a conflict although nobody moved anything.
func TestConflictWithNobody(t *testing.T) {
	t.Parallel()
	s, old, fault := applied(t, 2)
	id := old.Applied
	p, err := s.SetPointers(t.Context(), old, receipt.Pointers{Applied: id, Live: id})
	if err != nil || p.Live != id || fault.Hits() != 2 {
		t.Errorf("SetPointers after %d conflicts: %+v, %v", fault.Hits(), p, err)
	}
	if _, err := s.SetPointers(t.Context(), old, receipt.Pointers{Applied: id}); !errors.Is(err, receipt.ErrConflict) {
		t.Errorf("SetPointers from old ones: %v, want ErrConflict", err)
	}
}

func TestConflictWithNobodyForGood(t *testing.T) {
	t.Parallel()
	s, old, _ := applied(t, 0)
	_, err := s.SetPointers(t.Context(), old, receipt.Pointers{Applied: old.Applied, Live: old.Applied})
	if !apierrors.IsConflict(err) || errors.Is(err, receipt.ErrConflict) {
		t.Errorf("SetPointers: %v, want the server's conflict, and nobody else to be blamed", err)
	}
}
