package golang

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/gocommand"
	"github.com/pharos-dev/pharos/internal/processgroup"
)

// caches keeps builds that begin together on a Go build cache without the
// standard library from compiling all of it once each: the Go commands do not
// know of each other. Builds of one kind, which compile the same standard
// library, wait for the first of them, once, if the cache is cold.
type caches struct {
	mu    sync.Mutex
	kinds map[string]*kind
}

// kind is the builds of one toolchain, platform and recipe's settings.
type kind struct {
	// first is closed when the first build of the kind has ended.
	first chan struct{}
	// ask finds out, once, whether the cache is cold.
	ask  sync.Once
	cold bool
}

func kindOf(tc *toolchain, r *catalogue.GoBuild, p catalogue.Platform) string {
	var env []string
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		env = append(env, name+"="+r.Env[name])
	}
	return fmt.Sprintf("%q", []any{tc.setting, tc.version, p.String(), r.Tags, env})
}

// enter returns the kind of a build, and whether the build is its first one.
func (c *caches) enter(name string) (k *kind, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, known := c.kinds[name]
	if !known {
		k = &kind{first: make(chan struct{})}
		c.kinds[name] = k
	}
	return k, !known
}

// share runs a compilation. It begins at once if it is the first of its kind, if
// that has ended, or if the cache has the standard library.
func (b *build) share(ctx context.Context, m *module, tc *toolchain, p catalogue.Platform, compile func() error) error {
	k, first := b.caches.enter(kindOf(tc, b.recipes[p], p))
	if first {
		defer close(k.first)
		return compile()
	}
	select {
	case <-k.first:
		return compile()
	default:
	}
	k.ask.Do(func() { k.cold = !b.standardLibraryIsCached(ctx, m, tc, p) })
	if k.cold {
		select {
		case <-k.first:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return compile()
}

// standardLibraryIsCached asks the Go command about a package that nearly every
// program needs. What it does not say counts as no.
func (b *build) standardLibraryIsCached(ctx context.Context, m *module, tc *toolchain, p catalogue.Platform) bool {
	args := []string{"list", "-trimpath", "-f={{.Stale}}"}
	if tags := b.recipes[p].Tags; len(tags) > 0 {
		args = append(args, "-tags="+strings.Join(tags, ","))
	}
	var said bytes.Buffer
	cmd := gocommand.Process(ctx, b.goCommand, b.disk(m.dir), b.compileEnv(m, tc, p), append(args, "fmt")...)
	cmd.Stdout = &said
	err := processgroup.Run(cmd)
	return err == nil && strings.TrimSpace(said.String()) == "false"
}
