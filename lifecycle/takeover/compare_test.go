package takeover_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover"
)

// A comparison of the working tree that fails is made again without another edit.
func TestComparesAgain(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s := serve(t, editAPI, func(c *takeover.Config) {
		c.Same = func(context.Context) (bool, error) {
			if asked.Add(1) == 1 {
				return false, errors.New("the API server does not answer")
			}
			return true, nil
		}
	})
	s.local.Changed("api")
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
	s.Whole(s.before)
}
