package kubeclient_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pharos-dev/pharos/internal/kubeclient"
)

var leases = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

func TestJudgement(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err                                  error
		refused, transient, noNamespace, not bool
	}{
		"none":         {},
		"connection":   {err: errors.New("connection reset by peer"), transient: true},
		"conflict":     {err: apierrors.NewConflict(leases, "x", nil), refused: true},
		"taken":        {err: apierrors.NewAlreadyExists(leases, "x"), refused: true},
		"forbidden":    {err: apierrors.NewForbidden(leases, "x", nil), refused: true},
		"not found":    {err: apierrors.NewNotFound(leases, "x"), refused: true, not: true},
		"not served":   {err: apierrors.NewGenericServerResponse(404, "get", leases, "x", "404 page not found", 0, true), refused: true},
		"no namespace": {err: apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "x"), refused: true, noNamespace: true, not: true},
		"busy":         {err: apierrors.NewTooManyRequests("", 1), refused: true, transient: true},
		"broken":       {err: apierrors.NewInternalError(errors.New("x")), transient: true},
		"timeout":      {err: apierrors.NewTimeoutError("x", 1), transient: true},
		"unavailable":  {err: apierrors.NewServiceUnavailable("x"), transient: true},
	} {
		err := tc.err
		if err != nil {
			err = fmt.Errorf("wrapped: %w", err)
		}
		if got := kubeclient.Refused(err); got != tc.refused {
			t.Errorf("%s: Refused %v", name, got)
		}
		if got := kubeclient.Transient(err); got != tc.transient {
			t.Errorf("%s: Transient %v", name, got)
		}
		if got := kubeclient.NamespaceMissing(err); got != tc.noNamespace {
			t.Errorf("%s: NamespaceMissing %v", name, got)
		}
		if got := kubeclient.NotFound(err); got != tc.not {
			t.Errorf("%s: NotFound %v", name, got)
		}
	}
}

func TestRetry(t *testing.T) {
	t.Parallel()
	broken, conflict := apierrors.NewInternalError(errors.New("x")), apierrors.NewConflict(leases, "x", nil)
	for name, tc := range map[string]struct {
		errs []error
		want error
		took [2]time.Duration // at least and at most
	}{
		"at once":         {errs: []error{nil}},
		"for good":        {errs: []error{conflict}, want: conflict},
		"later":           {errs: []error{broken, broken, nil}, took: [2]time.Duration{300 * time.Millisecond, 400 * time.Millisecond}},
		"later for good":  {errs: []error{broken, conflict}, want: conflict, took: [2]time.Duration{100 * time.Millisecond, 200 * time.Millisecond}},
		"never":           {errs: []error{broken, broken, broken, broken, broken}, want: broken, took: [2]time.Duration{1500 * time.Millisecond, 2 * time.Second}},
		"when told":       {errs: []error{apierrors.NewTooManyRequests("", 3), nil}, took: [2]time.Duration{3 * time.Second, 3 * time.Second}},
		"told to go away": {errs: []error{apierrors.NewTooManyRequests("", 86400), nil}, took: [2]time.Duration{10 * time.Second, 10 * time.Second}},
	} {
		synctest.Test(t, func(t *testing.T) {
			start, n := time.Now(), 0
			err := kubeclient.Retry(t.Context(), func() error { n++; return tc.errs[n-1] })
			if err != tc.want || n != len(tc.errs) {
				t.Errorf("%s: %v after %d tries, want %v after %d", name, err, n, tc.want, len(tc.errs))
			}
			if took := time.Since(start); took < tc.took[0] || took > tc.took[1] {
				t.Errorf("%s: took %s, want %v", name, took, tc.took)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := kubeclient.Retry(ctx, func() error { return broken }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the context's error", err)
		}
	})
}
