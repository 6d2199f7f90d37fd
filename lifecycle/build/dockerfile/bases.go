package dockerfile

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/problem"
)

// baseKey is an image by digest and a platform.
type baseKey struct{ image, platform string }

// checkBases refuses a stage whose base is for another platform than the stage:
// BuildKit takes the only image that a reference leads to, whatever it is for, and
// says that the result is for the platform that was asked for. What the registry
// cannot say from here is left to BuildKit.
func (b *build) checkBases(ctx context.Context, p *plan, found *problems) {
	for _, of := range p.plans {
		for _, from := range of.From {
			at := slices.IndexFunc(p.pins, func(pin Pin) bool { return pin.Reference == from.Image })
			if at < 0 {
				continue // it is not built yet, or was reported
			}
			if _, err := catalogue.ParsePlatform(from.Platform); err != nil {
				continue // only BuildKit knows it
			}
			key := baseKey{p.pins[at].Image, from.Platform}
			if _, fits := b.fitting.Load(key); fits {
				continue
			}
			err := b.serves(ctx, key)
			switch {
			case err == nil:
				b.fitting.Store(key, true)
			case ctx.Err() != nil:
				return
			case errors.Is(err, lifecycle.ErrSource):
				found.say("%s:%d: FROM %s: its image cannot be used for %s: %v; lock another one, or, if the stage only makes files for others, write FROM --platform=$BUILDPLATFORM",
					b.file, from.Line, from.Image, from.Platform, problem.Cause(err))
			default:
				b.log.DebugContext(ctx, "what platforms a base is for cannot be told from here", "image", b.request.State.Image.Name, "base", key.image, "error", err)
			}
		}
	}
}

// serves asks the registry for an image that runs on a platform. The error is that
// of the platform itself.
func (b *build) serves(ctx context.Context, key baseKey) error {
	_, err := b.registry.Image(ctx, key.image, key.platform)
	if err == nil || !errors.Is(err, lifecycle.ErrSource) {
		return err
	}
	for _, older := range alsoRuns(key.platform) {
		if _, other := b.registry.Image(ctx, key.image, older); other == nil {
			return nil
		}
	}
	return err
}

// alsoRuns are the platforms whose images BuildKit takes as well; see
// github.com/containerd/platforms, Only.
func alsoRuns(platform string) []string {
	const arm = "linux/arm/v"
	switch version, is := strings.CutPrefix(platform, arm); {
	case platform == "linux/amd64":
		return []string{"linux/386"}
	case platform == "linux/arm64":
		return []string{arm + "8", arm + "7", arm + "6", arm + "5"}
	case is && version == "8":
		return []string{arm + "7", arm + "6", arm + "5"}
	case is && version == "7":
		return []string{arm + "6", arm + "5"}
	case is && version == "6":
		return []string{arm + "5"}
	}
	return nil
}
