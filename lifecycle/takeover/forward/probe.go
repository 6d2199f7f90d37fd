package forward

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"
)

const (
	// probeEvery is how often a forward is tried that has no traffic, probeSoon how often one that does not work.
	probeEvery = 30 * time.Second
	probeSoon  = 2 * time.Second
	// probeListens is how long a pod that does not listen has to say so.
	probeListens = time.Second
)

// probe tries the forward from end to end, now and then, until ctx ends.
func (p *port) probe(ctx context.Context) {
	for {
		pause := probeEvery
		ready, changed, _ := p.service.endpoints(p.address.Port)
		if p.quiet(ready) {
			if err := p.try(ctx); err != nil && ctx.Err() == nil {
				p.works("", err)
				pause = probeSoon
			}
		}
		select {
		case <-time.After(pause):
		case <-changed:
			// Right when a pod is gone or the first one has come.
			select {
			case <-time.After(againAfter):
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// quiet reports whether nothing else has shown lately that the forward works, with these endpoints.
func (p *port) quiet(ready []endpoint) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	there := slices.ContainsFunc(ready, func(e endpoint) bool { return e.pod == p.pod })
	return p.err != nil || !there || time.Since(p.heard) >= probeEvery
}

// try connects to the port as a TCP probe does.
func (p *port) try(ctx context.Context) error {
	s, err := p.dial(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	read := make(chan error, 1)
	go func() {
		_, err := s.Read(make([]byte, 1))
		read <- err
	}()
	select {
	case err = <-read:
	case <-time.After(probeListens):
	case <-ctx.Done():
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
