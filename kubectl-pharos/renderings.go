package main

import (
	"path/filepath"

	"github.com/pharos-dev/pharos/lifecycle/render"
)

// renderings are those that are kept in the checkout's Git folder, nil if no
// repository was opened.
func (s *shared) renderings() *render.Cache {
	if s.gitDir == "" {
		return nil
	}
	return render.NewCache(render.CacheConfig{Dir: filepath.Join(s.gitDir, "pharos", "renderings")})
}
