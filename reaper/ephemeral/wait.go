package ephemeral

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// wait waits until the namespace is gone.
func (s *Space) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.o.Wait)
	defer cancel()
	left := "nothing could be read"
	for d := 100 * time.Millisecond; ; d = min(2*d, 2*time.Second) {
		ns, err := s.look(ctx)
		switch {
		case errors.Is(err, errGone):
			return nil
		case err == nil:
			left = remains(ns)
		case ctx.Err() == nil:
			left = err.Error()
		}
		if !pause(ctx, d) {
			return fmt.Errorf("namespace %s is not gone after %s: %s", s.Name, s.o.Wait, left)
		}
	}
}

// remains is what the API server says of why a namespace is still there.
func remains(ns *corev1.Namespace) string {
	var left []string
	for _, c := range ns.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			left = append(left, c.Message)
		}
	}
	if len(left) == 0 {
		return "no controller has said why"
	}
	return strings.Join(left, "; ")
}
