package build

import (
	"context"
	"sync"
	"time"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle"
)

// EventType says what an event reports.
type EventType string

// The types of event.
const (
	// EventBegan: the build begins.
	EventBegan EventType = "build-began"
	// EventEnded: the build has ended: Event.Result, or Event.Error.
	EventEnded EventType = "build-ended"
)

// Event is the beginning or the end of a build. It carries no output of a tool but
// what an error quotes.
type Event struct {
	Type        EventType             `json:"type"`
	Time        time.Time             `json:"time"` // UTC
	Image       string                `json:"image"`
	Kind        string                `json:"kind"` // of its recipe, such as catalogue.BuildGo
	Fingerprint catalogue.Fingerprint `json:"fingerprint"`
	Repository  string                `json:"repository"`
	// Result is what was built; nil at the beginning and if it failed.
	Result *lifecycle.BuildResult `json:"result,omitempty"`
	// Err is why it failed; nil otherwise.
	Err error `json:"-"`
	// Error is the text of Err.
	Error string `json:"error,omitempty"`
	// Took is how long the build took, in nanoseconds; zero at the beginning.
	Took time.Duration `json:"took,omitempty"`
}

// Record returns a builder that reports the beginning and the end of every build
// of b to sink, which is called from one goroutine at a time and should return
// quickly: builds wait for it. The clock is now, such as time.Now.
func Record(b lifecycle.Builder, now func() time.Time, sink func(Event)) lifecycle.Builder {
	return &recorder{decorated: decorated{b}, now: now, sink: sink}
}

type recorder struct {
	decorated
	now  func() time.Time
	mu   sync.Mutex // for sink
	sink func(Event)
}

func (c *recorder) Build(ctx context.Context, r lifecycle.BuildRequest) (lifecycle.BuildResult, error) {
	began := c.now()
	e := Event{
		Type: EventBegan, Time: began.UTC(), Image: r.State.Image.Name, Kind: r.State.Image.Build.Kind(),
		Fingerprint: r.State.Fingerprint, Repository: r.Repository,
	}
	c.emit(e)
	result, err := c.builder.Build(ctx, r)
	ended := c.now()
	e.Type, e.Time, e.Took = EventEnded, ended.UTC(), ended.Sub(began)
	if err != nil {
		e.Err, e.Error = err, err.Error()
	} else {
		e.Result = &result
	}
	c.emit(e)
	return result, err
}

func (c *recorder) emit(e Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sink(e)
}
