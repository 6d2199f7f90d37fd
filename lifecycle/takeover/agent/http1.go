package agent

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// statusBegin is what every response begins with.
const statusBegin = "HTTP/1."

// maxPipelined is how many requests may wait for their answers.
const maxPipelined = 256

var (
	requestLine = regexp.MustCompile(`^([!#$%&'*+.^_|~0-9A-Za-z-]{1,32}) [^ \r\n]+ HTTP/1\.[01]\r?\n`)
	statusLine  = regexp.MustCompile(`^HTTP/1\.[01] ([1-5][0-9][0-9])[ \r\n]`)
)

// http1 follows a connection of HTTP/1, to know when nothing is under way and to
// have the other end leave when the agent is about to. What is anything else, or
// becomes it, passes as it is.
type http1 struct {
	closing *atomic.Bool // tell the caller that the connection ends with this answer

	mu        sync.Mutex
	opaque    bool
	requests  message
	responses message
	methods   []string // of the requests without a whole answer
}

func newHTTP1(closing *atomic.Bool) *http1 {
	h := &http1{closing: closing}
	h.requests.begins = func(p []byte) bool { return plausible(bytes.TrimLeft(p, "\r\n")) }
	h.requests.head = h.requestHead
	h.requests.end = func() {}
	h.responses.begins = func(p []byte) bool {
		n := min(len(p), len(statusBegin))
		return len(h.methods) > 0 && string(p[:n]) == statusBegin[:n]
	}
	h.responses.head = h.responseHead
	h.responses.end = h.answered
	return h
}

// fromCaller follows what the caller sent.
func (h *http1) fromCaller(p []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.opaque && h.requests.feed(p, func([]byte) {}) != nil {
		h.opaque = true
		h.requests.held, h.methods = nil, nil
	}
}

// toCaller returns what to send to the caller for p.
func (h *http1) toCaller(p []byte) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.opaque && len(h.responses.held) == 0 {
		return p
	}
	if h.opaque {
		h.responses.held = append(h.responses.held, p...)
		return h.takeHeld(nil)
	}
	var out []byte
	owned := false
	err := h.responses.feed(p, func(part []byte) {
		switch {
		case out == nil && len(part) >= len(p):
			out = part
		case !owned:
			out, owned = append(make([]byte, 0, len(out)+len(p)), out...), true
			fallthrough
		default:
			out = append(out, part...)
		}
	})
	if err == nil {
		return out
	}
	h.opaque = true
	return h.takeHeld(out)
}

func (h *http1) takeHeld(after []byte) []byte {
	out := append(after[:len(after):len(after)], h.responses.held...)
	h.responses.held = nil
	return out
}

// rest returns what is held still when the data for the caller end.
func (h *http1) rest() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.opaque = true
	return h.takeHeld(nil)
}

// idle says that no request is under way.
func (h *http1) idle() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.opaque && len(h.methods) == 0 && h.requests.between() && h.responses.between()
}

// waiting returns the method of the request whose answer is next, empty if there
// is none.
func (h *http1) waiting() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.opaque || len(h.methods) == 0 {
		return ""
	}
	return h.methods[0]
}

func (h *http1) requestHead(head []byte) (framing, []byte, error) {
	head = bytes.TrimLeft(head, "\r\n")
	line := requestLine.FindSubmatch(head)
	if line == nil || len(h.methods) == maxPipelined {
		return framing{}, nil, errNotHTTP1
	}
	f, _, err := bodyOf(head)
	if err != nil || f.close {
		return framing{}, nil, errNotHTTP1
	}
	h.methods = append(h.methods, string(line[1]))
	return f, nil, nil
}

func (h *http1) responseHead(head []byte) (framing, []byte, error) {
	line := statusLine.FindSubmatch(head)
	if line == nil || len(h.methods) == 0 {
		return framing{}, nil, errNotHTTP1
	}
	status, _ := strconv.Atoi(string(line[1]))
	method := h.methods[0]
	if status == 101 || method == "CONNECT" && status/100 == 2 {
		return framing{}, nil, errNotHTTP1 // another protocol from here on
	}
	if status/100 == 1 {
		h.methods = append([]string{method}, h.methods...) // the answer is still to come
		return framing{}, head, nil
	}
	f, declared, err := bodyOf(head)
	switch {
	case err != nil:
		return framing{}, nil, err
	case method == "HEAD" || status == 204 || status == 304:
		f = framing{}
	case !declared:
		f = framing{close: true}
	}
	if h.closing.Load() {
		head = withClose(head)
	}
	return f, head, nil
}

func (h *http1) answered() { h.methods = h.methods[1:] }

// withClose returns a response's head with "Connection: close".
func withClose(head []byte) []byte {
	has := false
	fields(head, func(name, value string) {
		has = has || strings.EqualFold(name, "Connection") && strings.EqualFold(value, "close")
	})
	if has {
		return head
	}
	status := lineEnd(head, 0)
	out := make([]byte, 0, len(head)+len("Connection: close\r\n"))
	out = append(out, head[:status]...)
	out = append(out, "Connection: close\r\n"...)
	return append(out, head[status:]...)
}
