package agent

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// maxPipelined is how many requests may wait for their answers.
const maxPipelined = 256

// closeField has a caller make its next request over another connection. It may be
// there twice.
const closeField = "Connection: close\r\n"

// http1 follows a connection of HTTP/1, to know when nothing is under way and to
// have the other end leave when the agent is about to. What is anything else, becomes
// it, or can be read in two ways, passes as it is.
type http1 struct {
	closing *atomic.Bool // tell the caller that the connection ends with this answer

	mu        sync.Mutex
	opaque    bool
	requests  message
	responses message
	asked     []question // without a whole answer
	status    int        // of the answer that comes
}

// question is a kind of a request, as far as it says what its answer looks like.
type question byte

const (
	askOther question = iota
	askHead
	askConnect
)

func newHTTP1(closing *atomic.Bool) *http1 {
	h := &http1{closing: closing}
	h.requests = message{start: h.request, body: h.requestBody, end: func() {}, blank: true}
	h.responses = message{start: h.response, body: h.responseBody, end: h.answered}
	return h
}

// fromCaller follows what the caller sent.
func (h *http1) fromCaller(p []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(p) > 0 && !h.opaque {
		n, _, err := h.requests.next(p)
		p = p[n:]
		if err != nil {
			h.opaque, h.asked = true, nil
		}
	}
}

// toCaller returns what to send to the caller for p.
func (h *http1) toCaller(p []byte) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	out, from := []byte(nil), 0
	for at := 0; at < len(p) && !h.opaque; {
		n, started, err := 0, false, errNotHTTP1
		if len(h.asked) > 0 {
			n, started, err = h.responses.next(p[at:])
		}
		at += n
		h.opaque = err != nil
		if started && err == nil && h.status/100 != 1 && h.closing.Load() {
			out = append(out, p[from:at]...)
			out = append(out, closeField...)
			from = at
		}
	}
	if from == 0 {
		return p
	}
	return append(out, p[from:]...)
}

// idle says that no request is under way.
func (h *http1) idle() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.opaque && len(h.asked) == 0 && h.requests.between() && h.responses.between()
}

// waiting says whether a request has no answer yet, and whether it is a HEAD.
func (h *http1) waiting() (waits, head bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.opaque || len(h.asked) == 0 {
		return false, false
	}
	return true, h.asked[0] == askHead
}

func (h *http1) request(l *line) error {
	method, _, _ := bytes.Cut(l.first, []byte(" "))
	version := string(l.last[max(0, len(l.last)-len(" HTTP/1.1")):])
	if l.spaces != 2 || !isMethod(method) || version != " HTTP/1.1" && version != " HTTP/1.0" || len(h.asked) == maxPipelined {
		return errNotHTTP1
	}
	kind := askOther
	switch string(method) {
	case "HEAD":
		kind = askHead
	case "CONNECT":
		kind = askConnect
	}
	h.asked = append(h.asked, kind)
	return nil
}

func (h *http1) requestBody(f framing) (framing, error) {
	if f.close {
		return framing{}, errNotHTTP1 // a request has no such body
	}
	return f, nil
}

func (h *http1) response(l *line) error {
	status, ok := statusOf(l.first)
	if !ok || status == 101 || h.asked[0] == askConnect && status/100 == 2 {
		return errNotHTTP1 // or another protocol from here on
	}
	h.status = status
	return nil
}

func (h *http1) responseBody(f framing) (framing, error) {
	switch {
	case h.status/100 == 1 || h.asked[0] == askHead || h.status == 204 || h.status == 304:
		return framing{}, nil
	case !f.declared:
		return framing{close: true}, nil
	}
	return f, nil
}

func (h *http1) answered() {
	if h.status/100 != 1 { // or the answer is still to come
		h.asked = h.asked[:copy(h.asked, h.asked[1:])]
	}
}

// isMethod says whether it is a token that may be a method.
func isMethod(p []byte) bool {
	for _, b := range p {
		letter := 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z' || '0' <= b && b <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+.^_|~-`", rune(b)) {
			return false
		}
	}
	return len(p) > 0 && len(p) <= maxMethod
}

// maxMethod is more than any method has.
const maxMethod = 32

// statusOf returns the status in a response's first line.
func statusOf(l []byte) (int, bool) {
	const begin = "HTTP/1."
	if len(l) < len("HTTP/1.1 200") || string(l[:len(begin)]) != begin || l[7] != '0' && l[7] != '1' || l[8] != ' ' {
		return 0, false
	}
	status, err := strconv.ParseUint(string(l[9:12]), 10, 10)
	return int(status), err == nil && status >= 100 && status < 600 && (len(l) == 12 || l[12] == ' ')
}
