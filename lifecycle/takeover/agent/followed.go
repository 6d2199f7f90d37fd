package agent

import (
	"strings"
	"sync"
	"sync/atomic"
)

// followed is a caller whose protocol is followed as far as it is known, so that
// the agent can leave without cutting anything off.
type followed struct {
	*caller
	leaving *atomic.Bool
	touched atomic.Bool // a byte went either way
	early   atomic.Bool // a byte came before it was joined
	joined  atomic.Bool
	looked  atomic.Bool // idle was asked since no byte went

	first []byte // the first bytes from the caller, until they say what it speaks
	http1 *http1

	in      http2Caller
	greeted bool // the agent has answered the preface of HTTP/2

	writing sync.Mutex
	http2   bool
	out     http2Process
}

func follow(c *caller, leaving *atomic.Bool) *followed {
	return &followed{caller: c, leaving: leaving}
}

// terminated says that the agent has answered the preface of HTTP/2 for the
// process, so that what is read from now on is frames. The preface is handed on.
func (f *followed) terminated() {
	f.http2, f.greeted = true, true
	f.in = http2Caller{frames: frames{left: len(preface)}, drop: true}
	f.out.any = true
}

// Read hands on what the caller sends. From its first byte on the process may have it.
func (f *followed) Read(p []byte) (int, error) {
	for {
		n, err := f.caller.Read(p[:f.most(len(p))])
		if n > 0 {
			f.touched.Store(true)
		}
		kept := f.fromCaller(p[:n])
		n = copy(p, kept)
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// most is how much of a buffer may be read into: where frames are dropped, one that was cut is put together again.
func (f *followed) most(size int) int {
	if f.in.drop {
		return max(1, size-frameHead)
	}
	return size
}

func (f *followed) fromCaller(p []byte) []byte {
	switch {
	case f.http1 != nil:
		f.http1.fromCaller(p)
	case f.in.drop:
		return f.in.fromCaller(p)
	case !f.http2:
		f.first = append(f.first, p...)
		if len(f.first) < len(preface) && strings.HasPrefix(preface, string(f.first)) {
			break
		}
		f.writing.Lock()
		if strings.HasPrefix(string(f.first), preface) {
			f.http2 = true
		} else {
			f.http1 = newHTTP1(f.leaving)
			f.http1.fromCaller(f.first)
		}
		f.writing.Unlock()
		f.first = nil
	}
	return p
}

// Write sends what the process answers.
func (f *followed) Write(p []byte) (int, error) {
	f.touched.Store(true)
	f.writing.Lock()
	defer f.writing.Unlock()
	out := p
	switch {
	case f.http1 != nil:
		out = f.http1.toCaller(p)
	case f.http2:
		out = f.out.toCaller(p, f.leaving.Load())
	}
	if _, err := f.caller.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// CloseWrite ends what is sent to the caller.
func (f *followed) CloseWrite() error {
	f.writing.Lock()
	defer f.writing.Unlock()
	return f.caller.CloseWrite()
}

// leave has a caller that speaks HTTP/2 open its next stream elsewhere. One that
// speaks HTTP/1 is told with its next answer.
func (f *followed) leave() {
	f.writing.Lock()
	defer f.writing.Unlock()
	if !f.http2 {
		return
	}
	if out := f.out.toCaller(nil, true); len(out) > 0 {
		f.caller.Write(out)
	}
}

// join says that the caller is about to be joined with the workstation.
func (f *followed) join() {
	f.early.Store(len(f.ahead) > 0)
	f.joined.Store(true)
}

// idle says that nothing is under way: no byte came, or all requests were answered.
func (f *followed) idle() bool {
	if !f.joined.Load() {
		return false
	}
	if !f.touched.Load() {
		// What came before it was joined may be read only now: it has until the next look.
		return !f.early.Load() && f.looked.Swap(true)
	}
	if !f.writing.TryLock() {
		return false // something is just sent
	}
	defer f.writing.Unlock()
	return f.http1 != nil && f.http1.idle()
}
