package faultproxy

import (
	"errors"
	"net/http"
	"regexp"
	"sync"
)

// Rule says which requests fail, and how.
type Rule struct {
	// Method is the HTTP method; empty matches every one.
	Method string
	// Path is found in the path of the URL; nil matches every one.
	Path *regexp.Regexp
	// Match looks at the rest of the request, without reading its body; nil matches every one. It is called for one
	// request at a time.
	Match func(*http.Request) bool
	// Skip is how many matching requests pass first.
	Skip int
	// Times is how many requests then fail; zero means all.
	Times int
	// AfterUpstream lets the server handle the request first; only its answer is lost.
	AfterUpstream bool
	// Do is what happens instead: [Answer], [TooManyRequests], [Stall] or [Cut].
	Do Action
}

// errFailed says that a fault took the place of an answer.
var errFailed = errors.New("the answer was replaced")

// Fault is a rule at work. Its methods may be called by several goroutines at once.
type Fault struct {
	rule    Rule
	reached chan struct{}
	release chan struct{}
	once    sync.Once

	mu      sync.Mutex
	matched int
	hits    int
	removed bool
}

func newFault(r Rule) *Fault {
	return &Fault{rule: r, reached: make(chan struct{}), release: make(chan struct{})}
}

// Hits is how many requests failed, or are failing.
func (f *Fault) Hits() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hits
}

// Reached is closed when the first request meets the fault; with AfterUpstream, when the server has handled it.
func (f *Fault) Reached() <-chan struct{} { return f.reached }

// Remove ends the fault for later requests, and releases stalled ones.
func (f *Fault) Remove() {
	f.mu.Lock()
	f.removed = true
	f.mu.Unlock()
	f.Release()
}

// Release lets stalled requests go on as if nothing had happened; later ones do not stall.
func (f *Fault) Release() { f.once.Do(func() { close(f.release) }) }

// meets reports whether the request meets the fault, and counts it.
func (f *Fault) meets(r *http.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.removed,
		f.rule.Method != "" && f.rule.Method != r.Method,
		f.rule.Path != nil && !f.rule.Path.MatchString(r.URL.Path),
		f.rule.Match != nil && !f.rule.Match(r):
		return false
	}
	f.matched++
	if f.matched <= f.rule.Skip || f.rule.Times > 0 && f.hits >= f.rule.Times {
		return false
	}
	f.hits++
	return true
}

// do does what the rule says, and reports whether the request goes on.
func (f *Fault) do(w http.ResponseWriter, r *http.Request) (goOn bool) {
	f.mu.Lock()
	select {
	case <-f.reached:
	default:
		close(f.reached)
	}
	f.mu.Unlock()
	return f.rule.Do(f, w, r)
}
