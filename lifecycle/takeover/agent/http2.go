package agent

// frames follows one direction of HTTP/2 frame by frame.
type frames struct {
	head    [frameHead]byte
	have    int // bytes of head
	left    int // bytes of the frame's payload that are to come
	blocked bool
	any     bool
}

// boundary says that a frame may be put in here.
func (s *frames) boundary() bool { return s.have == 0 && s.left == 0 && !s.blocked && s.any }

// next takes bytes of p up to the end of a frame's head or of its payload, and
// returns how many. If that completed a head, it returns the frame too.
func (s *frames) next(p []byte) (n int, f frame, complete bool) {
	if s.left > 0 {
		n = min(s.left, len(p))
		s.left -= n
		return n, frame{}, false
	}
	n = copy(s.head[s.have:], p)
	s.have += n
	if s.have < frameHead {
		return n, frame{}, false
	}
	f = parseFrame(s.head[:])
	s.have, s.left, s.blocked, s.any = 0, f.length, f.opensHeaders(), true
	return n, f, true
}

// http2Caller drops the caller's first SETTINGS acknowledgement, where it answers
// what the agent sent and the process never did.
type http2Caller struct {
	frames
	drop bool
}

// fromCaller returns what to hand on for p, in the place of p.
func (c *http2Caller) fromCaller(p []byte) []byte {
	if !c.drop {
		return p
	}
	out := make([]byte, 0, len(p)+frameHead)
	for len(p) > 0 && c.drop {
		inHead := c.left == 0
		n, f, complete := c.next(p)
		switch {
		case complete && f.isAck():
			c.drop = false
		case complete:
			out = append(out, c.head[:]...)
		case !inHead:
			out = append(out, p[:n]...)
		}
		p = p[n:]
	}
	return append(out, p...)
}

// http2Process follows what goes to the caller, to put a GOAWAY frame in when the
// agent is about to leave.
type http2Process struct {
	frames
	said bool
}

// toCaller returns what to send for p. With leave it contains the GOAWAY frame, if
// there is a place for it.
func (s *http2Process) toCaller(p []byte, leave bool) []byte {
	if s.said {
		return p
	}
	for at := 0; ; {
		if leave && s.boundary() {
			s.said = true
			out := make([]byte, 0, len(p)+32)
			out = append(out, p[:at]...)
			out = append(out, goAway(lastStream)...)
			return append(out, p[at:]...)
		}
		if at == len(p) {
			return p
		}
		n, _, _ := s.next(p[at:])
		at += n
	}
}
