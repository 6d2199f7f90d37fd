package lifecycle

import (
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"
)

// operation is one call: it stamps the events and sends them one at a time.
type operation struct {
	*Lifecycle
	id     string
	commit string
	start  time.Time

	// patience is until when the lease of somebody else is waited for; awaited
	// is whose was said to be.
	patience time.Time
	awaited  string
	// rendering is the last one, and rendered the images that it was of.
	rendering *Rendering
	rendered  []ImageRef
	// nodes is what is known of the target's nodes, nil until they were looked
	// at.
	nodes *nodeLook

	mu   sync.Mutex
	sink Sink
}

func (l *Lifecycle) begin(commit string, sink Sink) *operation {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return &operation{Lifecycle: l, id: hex.EncodeToString(b[:]), commit: commit, start: l.Now(), sink: sink}
}

func (o *operation) emit(e Event) {
	if o.sink == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	e.Time, e.Operation, e.Target, e.Commit = o.Now().UTC(), o.id, o.Target, o.commit
	o.sink(e)
}
