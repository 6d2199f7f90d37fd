package job

import (
	"context"
	"io"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pharos-dev/pharos/internal/kubeclient"
)

const (
	// logPause is how long to wait before a log that broke off is followed again.
	logPause = 500 * time.Millisecond
	// logTries is how often it is asked for in vain, nothing new coming, once its
	// container has ended.
	logTries = 3
	// logDrain is how long nothing new of a log may come once its container has ended.
	logDrain = 10 * time.Second
)

// followLog copies the log of the container that builds to a writer, from its beginning
// to its end, once each line, however often the connection breaks, as long as a
// connection brings something new. The container has ended when ended is closed. The
// error says why some of the log may be missing.
func (b *Backend) followLog(ctx context.Context, pod string, ended <-chan struct{}, to io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	c := &logCopy{to: to}
	var watching sync.WaitGroup
	watching.Go(func() {
		defer cancel()
		c.awaitStandstill(ctx, ended)
	})
	defer watching.Wait()
	defer cancel()
	for vain := 0; ; {
		complete := isClosed(ended) // before the request: it will have all
		before := c.copied.Load()
		err := b.copyLog(ctx, pod, c, complete)
		if ctx.Err() != nil || complete && (err == nil || kubeclient.Refused(err)) || apierrors.IsForbidden(err) {
			return err
		}
		wake := ended
		if complete {
			wake = nil
			if vain++; c.copied.Load() > before {
				vain = 0
			}
			if vain == logTries {
				return err
			}
		}
		select {
		case <-time.After(logPause):
		case <-wake:
		case <-ctx.Done():
			return err
		}
	}
}

// copyLog copies what of a log was not copied yet, until it ends or the connection
// breaks.
func (b *Backend) copyLog(ctx context.Context, pod string, c *logCopy, complete bool) error {
	log, err := b.api.log(ctx, pod, containerBuild, c.since())
	if err != nil {
		return err
	}
	defer log.Close()
	return c.read(log, complete)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
