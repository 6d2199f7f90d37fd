package golang

import (
	"context"
	"errors"
	"fmt"
	gobuild "go/build"
	"go/version"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/gocommand"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/problem"
)

// local is the GOTOOLCHAIN of a build that pins none: the Go command's own.
const local = "local"

// toolchain is a Go toolchain and what the user's configuration says about
// modules and caches, both from one run of "go env".
type toolchain struct {
	setting  string // GOTOOLCHAIN
	version  string // GOVERSION
	settings map[string]string
}

// release is the toolchain's version without the experiments that it was built
// with, "go1.26.8" of "go1.26.8 X:jsonv2".
func (t *toolchain) release() string {
	release, _, _ := strings.Cut(t.version, " ")
	return release
}

// releaseTags are the build constraints that hold of the toolchain: go1.1 to its
// own release; those of this program's toolchain if it is no release.
func (t *toolchain) releaseTags() []string {
	minor, err := strconv.Atoi(strings.TrimPrefix(version.Lang(t.release()), "go1."))
	if err != nil {
		return gobuild.Default.ReleaseTags
	}
	var tags []string
	for i := range minor {
		tags = append(tags, fmt.Sprintf("go1.%d", i+1))
	}
	return tags
}

// buildCache is the folder of the build cache that the images share: one of their
// own, inside of the user's, as the cache for fuzzing is. What the user's other
// programs write to theirs cannot reach an image, and "go clean -cache" leaves it.
// It is empty where the user's is not one for the go command to be told.
func (t *toolchain) buildCache() string {
	if dir := t.settings["GOCACHE"]; filepath.IsAbs(dir) {
		return filepath.Join(dir, "pharos")
	}
	return ""
}

// toolchains remembers what each GOTOOLCHAIN leads to.
type toolchains struct {
	mu    sync.Mutex
	known map[string]*toolchain
}

func (t *toolchains) get(setting string) *toolchain {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known[setting]
}

func (t *toolchains) put(tc *toolchain) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known[tc.setting] = tc
}

// toolchain finds the toolchain that builds the module, downloads it if it is
// pinned and not here, and checks that it is new enough.
func (b *build) toolchain(ctx context.Context, m *module) (*toolchain, error) {
	setting, from, err := b.pinned(ctx)
	if err != nil {
		return nil, err
	}
	tc := b.toolchains.get(setting)
	if tc == nil {
		if tc, err = b.askGo(ctx, setting, from); err != nil {
			return nil, err
		}
		b.toolchains.put(tc)
	}
	p := problem.List{Image: b.request.State.Image.Name}
	for _, want := range m.goLines() {
		if version.IsValid(tc.release()) && version.Compare("go"+want.version, tc.release()) > 0 {
			p.Add("%s asks for Go %s, and %s is %s: install a newer Go, or pin one with build.go.toolchain or a toolchain line",
				want.file, want.version, toolchainWords(setting, from), tc.version)
		}
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	return tc, nil
}

// pinned is the GOTOOLCHAIN to build with, and who says so: what the fingerprint
// names.
func (b *build) pinned(ctx context.Context) (setting, from string, err error) {
	t, err := catalogue.GoToolchain(ctx, *b.recipe, b.request.State.Inputs)
	var input *catalogue.InputError
	switch {
	case errors.As(err, &input):
		return "", "", &lifecycle.BuildError{Image: b.request.State.Image.Name, Reason: input.Error(), Err: err}
	case err != nil:
		return "", "", b.broken(err)
	case !t.Pinned:
		return local, "", nil
	}
	return t.Name, t.From, nil
}

func toolchainWords(setting, from string) string {
	if setting == local {
		return "the Go of this machine"
	}
	return "the toolchain that " + from + " pins"
}

func (b *build) askGo(ctx context.Context, setting, from string) (*toolchain, error) {
	dir := b.folder.Path("env")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, b.broken(err)
	}
	// Its own go.mod, so that none of a parent folder is looked at.
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module env\n"), 0o600); err != nil {
		return nil, b.broken(err)
	}
	stderr := b.output.writer(b.folder.Path())
	version, settings, err := gocommand.Ask(ctx, b.goCommand, dir, b.env, setting, stderr)
	stderr.flush()
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, b.toolchainError(setting, from, stderr.tail(), err)
	}
	return &toolchain{setting: setting, version: version, settings: settings}, nil
}

func (b *build) toolchainError(setting, from, output string, err error) error {
	if err := b.networkError("get the toolchain "+setting+" for image", output, err); err != nil {
		return err
	}
	if err := b.machineError(&toolchain{}, output, err); err != nil {
		return err
	}
	if setting == local {
		return b.broken(fmt.Errorf("run go env: %w\n%s", err, strings.TrimSpace(output)))
	}
	return &lifecycle.BuildError{
		Image:  b.request.State.Image.Name,
		Reason: fmt.Sprintf("the toolchain %s, which %s pins, is not to be had", setting, from),
		Output: output, Err: err,
	}
}
