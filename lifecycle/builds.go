package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// errNotStarted ends what waits for its turn when another build has failed. It
// is no failure of its own.
var errNotStarted = errors.New("another image could not be built")

// buildImages builds what has no digest yet, each image after those that it is
// built on. All or nothing: after the first failure no other build begins; those
// that have begun finish, or are ended if the request says so. All failures are
// returned, in the catalogue's order.
func (o *operation) buildImages(ctx context.Context, r ReconcileRequest, images []*image) error {
	waiting, stop := context.WithCancelCause(ctx) // of what has not begun
	defer stop(nil)
	building, end := context.WithCancelCause(ctx) // of what has
	defer end(nil)
	out := &lineWriters{open: r.Output}
	jobs := make(chan struct{}, o.Jobs)
	ready := make(map[*image]chan struct{}, len(images)) // closed when there is a digest
	for _, img := range images {
		ready[img] = make(chan struct{})
		if !img.status.Build() {
			o.emit(Event{Type: EventImageReused, Image: copyOf(img.status)})
			close(ready[img])
		}
	}
	errs := make([]error, len(images))
	var all sync.WaitGroup
	for i, img := range images {
		if !img.status.Build() {
			continue
		}
		all.Go(func() {
			if errs[i] = takeTurn(waiting, img, ready, jobs); errs[i] != nil {
				return
			}
			defer func() { <-jobs }()
			o.emit(Event{Type: EventImageBuilding, Image: copyOf(img.status)})
			if errs[i] = o.buildImage(building, r, img, out.writer(img.status.Name)); errs[i] == nil {
				close(ready[img])
				return
			}
			if errors.Is(errs[i], context.Canceled) && errors.Is(context.Cause(building), errNotStarted) {
				errs[i] = errNotStarted
			}
			stop(errNotStarted)
			if r.CancelBuilds {
				end(errNotStarted)
			}
		})
	}
	all.Wait()
	return failures(ctx, errs)
}

// takeTurn waits for what an image is built on, and for one of the jobs.
func takeTurn(ctx context.Context, img *image, ready map[*image]chan struct{}, jobs chan struct{}) error {
	for _, base := range img.on {
		select {
		case <-ready[base]:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	select {
	case jobs <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if ctx.Err() != nil {
		<-jobs
		return context.Cause(ctx)
	}
	return nil
}

// failures returns what went wrong by itself: not what did not begin, or was
// ended, because of it. If the caller's context ended, that alone is said.
func failures(ctx context.Context, errs []error) error {
	own := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil || errors.Is(err, errNotStarted) })
	if len(own) > 0 && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if len(own) == 1 {
		return own[0]
	}
	return errors.Join(own...)
}

func (o *operation) buildImage(ctx context.Context, r ReconcileRequest, img *image, out io.Writer) error {
	start := time.Now()
	request := o.buildRequest(r, img)
	request.Output = out
	built, err := o.Builders[img.state.Image.Build.Kind()].Build(ctx, request)
	if c, ok := out.(io.Closer); ok {
		_ = c.Close() // it only shows what there was
	}
	if err != nil {
		return err
	}
	found, err := o.Registry.Verify(ctx, img.push(o.Lifecycle), built.Digest)
	if err != nil {
		return fmt.Errorf("check image %s, which was just pushed: %w", img.status.Name, err)
	}
	if missing := without(found.Platforms, img.platforms); len(missing) > 0 {
		return &BuildError{Image: img.status.Name, Reason: "the built image misses the platforms " + strings.Join(missing, ", ")}
	}
	if err := o.keepImage(ctx, img, built.Digest); err != nil {
		return fmt.Errorf("keep image %s, which was just pushed: %w", img.status.Name, err)
	}
	img.status.Digest, img.bases, img.toolchain = built.Digest, built.Bases, built.Toolchain
	o.emit(Event{Type: EventImageBuilt, Image: copyOf(img.status), Took: time.Since(start)})
	return nil
}

// buildRequest is the request for an image, with those that it is built on and
// that are built.
func (o *operation) buildRequest(r ReconcileRequest, img *image) BuildRequest {
	request := BuildRequest{State: img.state, Full: r.Commit.Tree, Repository: img.push(o.Lifecycle), Images: map[string]string{}}
	for _, base := range img.on {
		if !base.status.Build() {
			request.Images[base.status.Name] = base.push(o.Lifecycle) + "@" + string(base.status.Digest)
		}
	}
	return request
}

// lineWriters hands out a writer for each image.
type lineWriters struct {
	mu   sync.Mutex
	open func(image string) io.Writer
}

func (w *lineWriters) writer(image string) io.Writer {
	if w.open == nil {
		return io.Discard
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open(image)
}
