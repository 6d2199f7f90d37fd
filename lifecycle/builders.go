package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/pharos-dev/pharos/catalogue"
)

// recipes are the kinds of recipe, what people call them, and what to do where
// nothing builds them.
var recipes = []struct{ kind, called, advice string }{
	{catalogue.BuildGo, "Go packages", ""},
	{catalogue.BuildDockerfile, "Dockerfiles", "Name a BuildKit in the Target of " + catalogue.FileName +
		": spec.buildkit: {address: tcp://HOST:PORT}, or {runner: {address: …}}, or {job: {image: …}}."},
	{catalogue.BuildFiles, "files alone", ""},
}

// lackBuilders refuses images that have to be built and that nothing builds for
// this target, all of them at once.
func (l *Lifecycle) lackBuilders(images []*image) error {
	var errs []error
	for _, r := range recipes {
		if l.Builders[r.kind] != nil {
			continue
		}
		var names []string
		for _, img := range images {
			if img.status.Build() && img.state.Image.Build.Kind() == r.kind {
				names = append(names, img.status.Name)
			}
		}
		if len(names) > 0 {
			errs = append(errs, &Error{Op: "build", On: "images", Class: ErrSource, Advice: r.advice,
				Err: fmt.Errorf("nothing builds from %s for target %q: %s", r.called, l.Target, strings.Join(names, ", "))})
		}
	}
	return errors.Join(errs...)
}

// checkBuilds returns what builders can tell now of the images that have to be
// built: all that would fail, in the catalogue's order.
func (o *operation) checkBuilds(ctx context.Context, r ReconcileRequest, images []*image) error {
	errs := make([]error, len(images))
	var g errgroup.Group
	g.SetLimit(o.Jobs)
	for i, img := range images {
		checker, ok := o.Builders[img.state.Image.Build.Kind()].(Checker)
		if !ok || !img.status.Build() {
			continue
		}
		g.Go(func() error {
			errs[i] = checker.Check(ctx, o.buildRequest(r, img))
			return nil
		})
	}
	_ = g.Wait() // the errors are all in the list
	return failures(ctx, errs)
}
