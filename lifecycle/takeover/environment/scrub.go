package environment

import (
	"bytes"
	"io"
	"slices"
	"sync"
	"time"
)

// Mask stands for a secret in what a Scrubber writes.
const Mask = "***"

const (
	// shortestSecret is how long a value has to be to be masked. Shorter ones, such as
	// "true", "5432" or "admin", stand in every output, where nothing says that they
	// are secrets, and hiding them would tell more than it hides.
	shortestSecret = 6
	// anchor is by how many bytes a secret is known: it is masked from there on for as
	// long as the output goes on as it does, so that of a long one no more is held
	// back.
	anchor = 64
	// patience is how long output is held back that may be the beginning of a secret,
	// if nothing follows.
	patience = 200 * time.Millisecond
)

// Scrubber is a writer that masks secrets in what it passes on: as they are, in
// base64 in any alignment, percent-encoded, and as strings of JSON and Go, wherever
// one write ends and the next one begins.
//
// Values shorter than 6 bytes are not masked. Of one of 64 bytes and more, any
// beginning that is at least that long is masked too.
//
// At most 64 bytes are held back, and only where they may be the beginning of a
// secret. Where they are fewer than 6 and nothing follows for 200 ms, they are
// written, and if they were the beginning of one, the rest is masked. Close writes
// what is left.
//
// A Scrubber may be used by several goroutines at once. Its memory is that of the
// secrets' forms, and does not grow with the output.
type Scrubber struct {
	mu     sync.Mutex
	to     io.Writer
	byHead map[head][]string // the forms of all secrets
	starts starts            // what they begin with
	held   []byte            // what may be the beginning of a secret
	passed int               // how much of it has been written already
	inside []string          // what the secrets that output is inside of go on with
	timer  *time.Timer
	err    error
}

// head is what forms are found by.
type head [shortestSecret]byte

// starts are the first two bytes of texts.
type starts struct {
	first [256]bool
	pairs [1 << 16 / 64]uint64 // a bit for each
}

func (s *starts) add(text string) {
	s.first[text[0]] = true
	pair := uint16(text[0])<<8 | uint16(text[1])
	s.pairs[pair/64] |= 1 << (pair % 64)
}

// may says whether one of the texts may stand there.
func (s *starts) may(text []byte) bool {
	if len(text) < 2 {
		return s.first[text[0]]
	}
	pair := uint16(text[0])<<8 | uint16(text[1])
	return s.pairs[pair/64]&(1<<(pair%64)) != 0
}

var _ io.WriteCloser = (*Scrubber)(nil)

// NewScrubber returns a Scrubber that writes to w. More secrets can be added.
func NewScrubber(w io.Writer, secrets ...string) *Scrubber {
	s := &Scrubber{to: w, byHead: map[head][]string{}}
	s.Add(secrets...)
	return s
}

// Add adds secrets, which are masked in what is written from then on.
func (s *Scrubber) Add(secrets ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range secrets {
		for _, form := range forms(secret) {
			h := head([]byte(form)[:shortestSecret])
			if slices.Contains(s.byHead[h], form) {
				continue
			}
			s.byHead[h] = append(s.byHead[h], form)
			s.starts.add(form)
		}
	}
}

// Write passes p on, but for secrets, and for what is held back. It takes all of p
// unless the writer below fails; that error is returned from then on.
func (s *Scrubber) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	s.scan(p, false)
	if len(s.held) > s.passed && len(s.held) < shortestSecret {
		s.wait()
	}
	if s.err != nil {
		return 0, s.err
	}
	return len(p), nil
}

// wait lets a short beginning of a secret go if nothing follows.
func (s *Scrubber) wait() {
	if s.timer != nil {
		s.timer.Reset(patience)
		return
	}
	s.timer = time.AfterFunc(patience, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.held) < shortestSecret {
			s.pass(s.held[s.passed:])
			s.passed = len(s.held)
		}
	})
}

// Close writes what is held back: masked, if so much of a secret is there that it
// would be masked by itself. It does not close the writer below.
func (s *Scrubber) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
	s.scan(nil, true)
	return s.err
}

// scan goes through what is held and what follows. If it is the end, nothing is held
// any more.
func (s *Scrubber) scan(p []byte, end bool) {
	buf := append(s.held, p...)
	s.held = nil
	var out bytes.Buffer
	passed := s.passed // how much of buf has been written, and is not written again
	s.passed = 0
	emit := func(text []byte) {
		skipped := min(passed, len(text))
		passed -= skipped
		out.Write(text[skipped:])
	}
	for len(buf) > 0 {
		if buf = s.follow(buf); len(buf) == 0 {
			break
		}
		n := 0
		for n < len(buf) && !s.starts.may(buf[n:]) {
			n++
		}
		if n > 0 {
			emit(buf[:n])
			buf = buf[n:]
			continue
		}
		length, more := s.match(buf)
		switch {
		case more && !end:
			s.held, s.passed = slices.Clone(buf), passed
			buf = nil
		case more && length == 0 && len(buf) >= shortestSecret:
			// The output ends inside of a secret.
			out.WriteString(Mask)
			buf = nil
		case length > 0:
			out.WriteString(Mask)
			s.enter(buf[:length])
			buf, passed = buf[length:], 0
		default:
			emit(buf[:1])
			buf = buf[1:]
		}
	}
	if end {
		s.inside = nil
	}
	s.pass(out.Bytes())
}

// match returns how long the longest form is, up to the anchor, that begins a text,
// and whether a longer one may if more follows.
func (s *Scrubber) match(text []byte) (length int, more bool) {
	if len(text) < shortestSecret {
		return 0, s.mayBegin(text)
	}
	for _, form := range s.byHead[head(text[:shortestSecret])] {
		form = form[:min(len(form), anchor)]
		switch {
		case len(form) <= len(text) && form == string(text[:len(form)]):
			length = max(length, len(form))
		case len(form) > len(text) && form[:len(text)] == string(text):
			more = true
		}
	}
	return length, more
}

// mayBegin says whether a form begins with a text that is shorter than any.
func (s *Scrubber) mayBegin(text []byte) bool {
	for h := range s.byHead {
		if bytes.HasPrefix(h[:], text) {
			return true
		}
	}
	return false
}

// enter notes what the forms go on with of which as much has been seen as they are
// known by.
func (s *Scrubber) enter(begun []byte) {
	if len(begun) < anchor {
		return
	}
	for _, form := range s.byHead[head(begun[:shortestSecret])] {
		if len(form) > len(begun) && form[:len(begun)] == string(begun) {
			s.inside = append(s.inside, form[len(begun):])
		}
	}
}

// follow drops what the secrets go on with that output is inside of.
func (s *Scrubber) follow(text []byte) []byte {
	for len(s.inside) > 0 && len(text) > 0 {
		var still []string
		for _, rest := range s.inside {
			if rest[0] == text[0] {
				still = append(still, rest[1:])
			}
		}
		if len(still) == 0 {
			s.inside = nil
			break
		}
		s.inside = slices.DeleteFunc(still, func(rest string) bool { return rest == "" })
		text = text[1:]
	}
	return text
}

func (s *Scrubber) pass(text []byte) {
	if len(text) == 0 || s.err != nil {
		return
	}
	_, s.err = s.to.Write(text)
}
