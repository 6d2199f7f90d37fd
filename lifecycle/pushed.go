package lifecycle

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/pharos-dev/pharos/catalogue"
)

// PushedImages asks a registry which images of a catalogue it has, by their
// fingerprints, and returns those that it has all of, by name. Push is the
// repositories' common prefix as the builders see it, "localhost:5000/dev". No
// cluster is asked. Errors are the registry's.
func PushedImages(ctx context.Context, r Registry, push string, states []catalogue.State) (map[string]RegistryImage, error) {
	var mu sync.Mutex
	pushed := map[string]RegistryImage{}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(verifyJobs)
	for _, st := range states {
		g.Go(func() error {
			found, err := r.Find(ctx, push+"/"+st.Image.Name, st.Fingerprint)
			if errors.Is(err, ErrImageNotFound) {
				return nil
			}
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			pushed[st.Image.Name] = found
			return nil
		})
	}
	return pushed, g.Wait()
}
