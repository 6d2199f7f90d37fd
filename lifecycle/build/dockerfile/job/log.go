package job

import (
	"bufio"
	"context"
	"io"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pharos-dev/pharos/internal/kubeclient"
)

const (
	// logPause is how long to wait before a log that broke off is followed again.
	logPause = 500 * time.Millisecond
	// logTries is how often it is asked for at most once its container has ended.
	logTries = 3
	// logDrain is how long the rest of a log may take to come once its container
	// has ended.
	logDrain = 10 * time.Second
)

// followLog copies the log of the container that builds to a writer, from its beginning
// to its end, once each line, however often the connection breaks. The container has
// ended when ended is closed. The error says why some of it may be missing.
func (b *Backend) followLog(ctx context.Context, pod string, ended <-chan struct{}, to io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		select {
		case <-ended:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(logDrain):
			cancel()
		case <-ctx.Done():
		}
	}()
	defer func() {
		cancel()
		<-drained
	}()
	at := position{}
	for late := 0; ; {
		complete := isClosed(ended) // before the request: it will have all
		err := b.copyLog(ctx, pod, &at, to)
		if ctx.Err() != nil || complete && (err == nil || kubeclient.Refused(err)) || apierrors.IsForbidden(err) {
			return err
		}
		wake := ended
		if complete {
			if late++; late == logTries {
				return err
			}
			wake = nil
		}
		select {
		case <-time.After(logPause):
		case <-wake:
		case <-ctx.Done():
			return err
		}
	}
}

// position is how far a log was copied: to the line of that time, of which that many
// were copied.
type position struct {
	time  time.Time
	lines int
}

// copyLog copies what follows a position until the log ends or the connection breaks.
func (b *Backend) copyLog(ctx context.Context, pod string, at *position, to io.Writer) error {
	since := ""
	if !at.time.IsZero() {
		since = at.time.UTC().Truncate(time.Second).Format(time.RFC3339)
	}
	log, err := b.api.log(ctx, pod, containerBuild, since)
	if err != nil {
		return err
	}
	defer log.Close()
	lines := bufio.NewReader(log)
	seen := 0 // of the lines of the position's time
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF && line == "" {
			return nil
		}
		if err != nil && err != io.EOF {
			return err // what of the line is there comes again
		}
		stamp, text, _ := strings.Cut(line, " ")
		when, parseErr := time.Parse(time.RFC3339Nano, stamp)
		switch {
		case parseErr != nil: // what the server has to say itself
			text = line
		case when.Before(at.time):
			continue
		case when.Equal(at.time):
			if seen++; seen <= at.lines {
				continue
			}
			at.lines = seen
		default:
			*at, seen = position{time: when, lines: 1}, 1
		}
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		// A reader that is gone does not stop a build.
		_, _ = io.WriteString(to, text)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
