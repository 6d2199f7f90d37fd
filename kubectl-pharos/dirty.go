package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// warnDirty looks for edits that are not committed, while other things happen.
// What it returns waits for the answer and says that only the commit counts.
func (s *shared) warnDirty(ctx context.Context, repo *source.Repository, use string) (warn func()) {
	found := make(chan []string, 1)
	go func() {
		paths, _ := repo.Dirty(ctx) // the warning is only a courtesy
		found <- paths
	}()
	return func() {
		paths := <-found
		if len(paths) == 0 {
			return
		}
		more := ""
		if len(paths) > 3 {
			paths, more = paths[:3], fmt.Sprintf(" and %d more", len(paths)-3)
		}
		linef(s.ErrOut, "warning: only the commit is %s, not what the working tree changed: %s%s", use, strings.Join(paths, ", "), more)
	}
}
