package agent

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"
)

// split calls f with p in pieces whose sizes seed decides.
func split(p []byte, seed byte, f func([]byte)) {
	for size := int(seed)%7 + 1; len(p) > 0; size = (size*5+1)%11 + 1 {
		n := min(size, len(p))
		f(bytes.Clone(p[:n]))
		p = p[n:]
	}
}

const (
	exchangeRequests = "GET /a HTTP/1.1\r\nHost: api\r\n\r\n" +
		"POST /b HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody" +
		"HEAD /c HTTP/1.1\r\n\r\n" +
		"PUT /d HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n3;x=y\r\nabc\r\n0\r\nTrailer: t\r\n\r\n"
	exchangeAnswers = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" +
		"HTTP/1.1 204 No Content\r\n\r\n" +
		"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" +
		"HTTP/1.1 100 Continue\r\n\r\n" +
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nHTTP/\r\n0\r\n\r\n"
)

func TestHTTP1Follows(t *testing.T) {
	t.Parallel()
	for seed := range byte(20) {
		var closing atomic.Bool
		h := newHTTP1(&closing)
		if !h.idle() {
			t.Error("not idle at first")
		}
		split([]byte(exchangeRequests), seed, h.fromCaller)
		if waits, head := h.waiting(); h.idle() || !waits || head {
			t.Error("idle with requests under way")
		}
		var got []byte
		split([]byte(exchangeAnswers[:len(exchangeAnswers)-1]), seed, func(p []byte) { got = append(got, h.toCaller(p)...) })
		if h.idle() {
			t.Error("idle within the last answer")
		}
		got = append(got, h.toCaller([]byte("\n"))...)
		if !h.idle() || h.opaque {
			t.Errorf("not idle after the last answer; opaque: %v", h.opaque)
		}
		if string(got) != exchangeAnswers {
			t.Errorf("got %q", got)
		}
	}
}

func TestHTTP1SaysClose(t *testing.T) {
	t.Parallel()
	want := strings.ReplaceAll(exchangeAnswers, " OK\r\n", " OK\r\nConnection: close\r\n")
	want = strings.ReplaceAll(want, " No Content\r\n", " No Content\r\nConnection: close\r\n")
	for seed := range byte(20) {
		var closing atomic.Bool
		closing.Store(true)
		h := newHTTP1(&closing)
		split([]byte(exchangeRequests), seed, h.fromCaller)
		var got []byte
		split([]byte(exchangeAnswers), seed, func(p []byte) { got = append(got, h.toCaller(p)...) })
		if string(got) != want {
			t.Errorf("got %q", got)
		}
	}
}

// What becomes another protocol passes as it is, and is never idle.
func TestHTTP1GivesWay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string][2]string{
		"upgrade":      {"GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n\x81\x01a", "HTTP/1.1 101 Switching Protocols\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"},
		"tunnel":       {"CONNECT a:1 HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"},
		"not HTTP":     {"EHLO api\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"},
		"binary":       {"\x00\x01", "\x02\x03"},
		"half a line":  {"PING", "+PON"},
		"half a head":  {"GET / HTTP/1.1\r\nHost:", "HTTP/1.1 400 Bad"},
		"other answer": {"GET / HTTP/1.1\r\n\r\n", "ICY"},
		"other second": {"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 204 No\r\n\r\nand"},
		"first word":   {"", "HTTP/1.1 200 OK\r\n\r\n"},
		"long head":    {"GET / HTTP/1.1\r\n" + strings.Repeat("a: b\r\n", 20000), "HTTP/1.1 200 OK\r\n\r\n"},
		"two lengths":  {"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"},
		"wrong length": {"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"},
		"wrong chunk":  {"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\nabc"},
	} {
		var closing atomic.Bool
		h := newHTTP1(&closing)
		split([]byte(c[0]), 3, h.fromCaller)
		var got []byte
		split([]byte(c[1]), 3, func(p []byte) {
			closing.Store(len(got) > 40)
			got = append(got, h.toCaller(p)...)
		})
		if string(got) != c[1] {
			t.Errorf("%s: got %q", name, got)
		}
		if h.idle() {
			t.Errorf("%s: idle", name)
		}
	}
}

// Where two readers may see a message's end in two places the agent sees none: it puts
// nothing in any more, and does not call the connection idle.
func TestHTTP1AmbiguousIsOpaque(t *testing.T) {
	t.Parallel()
	const request = "POST / HTTP/1.1\r\nHost: api\r\n"
	for name, sent := range map[string]string{
		"both":              request + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
		"both, other order": request + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
		"folded":            request + "Transfer-Encoding:\r\n chunked\r\n\r\n",
		"folded by a tab":   request + "X: a\r\n\tb\r\n\r\n",
		"bare line feed":    request + "X: a\nContent-Length: 5\r\n\r\n",
		"bare lines":        "GET / HTTP/1.1\nHost: api\n\n",
		"bare return":       request + "X: a\rContent-Length: 5\r\n\r\n",
		"two returns":       request + "Content-Length: 5\r\r\n\r\n",
		"NUL":               request + "X: \x00\r\n\r\n",
		"space before":      request + "Content-Length : 5\r\n\r\n",
		"no colon":          request + "Content-Length 5\r\n\r\n",
		"no name":           request + ": 5\r\n\r\n",
		"a sign":            request + "Content-Length: +5\r\n\r\n",
		"a list":            request + "Content-Length: 5, 5\r\n\r\n",
		"empty":             request + "Content-Length:\r\n\r\n",
		"hexadecimal":       request + "Content-Length: 0x5\r\n\r\n",
		"too long":          request + "Content-Length: " + strings.Repeat("0", 200) + "5\r\n\r\n",
		"other coding":      request + "Transfer-Encoding: chunked, identity\r\n\r\n",
		"vertical tab":      request + "Transfer-Encoding: \vchunked\r\n\r\n",
		"chunk's size":      request + "Transfer-Encoding: chunked\r\n\r\n0x5\r\n",
		"chunk's sign":      request + "Transfer-Encoding: chunked\r\n\r\n+5\r\n",
		"chunk's end":       request + "Transfer-Encoding: chunked\r\n\r\n1\r\naX\r\n",
		"bare chunk":        request + "Transfer-Encoding: chunked\r\n\r\n5\n",
		"spaces":            "GET /a b HTTP/1.1\r\n\r\n",
		"version":           "GET / HTTP/1.2\r\n\r\n",
	} {
		for seed := range byte(10) {
			var closing atomic.Bool
			closing.Store(true)
			h := newHTTP1(&closing)
			split([]byte(sent), seed, h.fromCaller)
			const answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
			if got := h.toCaller([]byte(answer)); string(got) != answer || h.idle() || !h.opaque {
				t.Errorf("%s: got %q; idle: %v", name, got, h.idle())
			}
		}
	}
}

// However long a head is, no more of it is kept than what says how the message ends.
func TestHTTP1KeepsNoHeads(t *testing.T) {
	t.Parallel()
	var closing atomic.Bool
	h := newHTTP1(&closing)
	h.fromCaller([]byte("GET /" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\n"))
	piece := []byte(strings.Repeat("x", 1<<10))
	h.fromCaller([]byte("Cookie: "))
	kept := func() int { return cap(h.requests.line.first) + cap(h.requests.line.last) + cap(h.asked) }
	for range 1 << 10 {
		h.fromCaller(piece)
	}
	if n := kept(); n > 2<<10 {
		t.Errorf("%d bytes are kept of a head", n)
	}
	h.fromCaller([]byte("\r\nContent-Length: 3\r\n\r\nabc"))
	if waits, _ := h.waiting(); !waits || !h.requests.between() {
		t.Error("it is not followed to its end")
	}
	h.toCaller([]byte("HTTP/1.1 200 OK\r\nSet-Cookie: "))
	for range 1 << 10 {
		h.toCaller(piece)
	}
	h.toCaller([]byte("\r\nContent-Length: 0\r\n\r\n"))
	if !h.idle() {
		t.Error("it is not idle after the answer")
	}
}

// Whatever both sides say arrives as it is, in whatever pieces, but for the line
// that sends the caller away.
func FuzzHTTP1(f *testing.F) {
	f.Add([]byte(exchangeRequests), []byte(exchangeAnswers), byte(0), true)
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), []byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHTTP/"), byte(3), false)
	f.Fuzz(func(t *testing.T, requests, answers []byte, seed byte, leave bool) {
		var closing atomic.Bool
		closing.Store(leave)
		h := newHTTP1(&closing)
		split(requests, seed, h.fromCaller)
		var got []byte
		split(answers, seed, func(p []byte) { got = append(got, h.toCaller(p)...) })
		if leave {
			got = bytes.ReplaceAll(got, []byte("Connection: close\r\n"), nil)
			answers = bytes.ReplaceAll(answers, []byte("Connection: close\r\n"), nil)
		}
		if !bytes.Equal(got, answers) {
			t.Errorf("%q became %q", answers, got)
		}
	})
}

func framesOf(kinds ...byte) []byte {
	var b []byte
	for i, kind := range kinds {
		b = appendFrame(b, kind, flagEndHeaders, uint32(i), bytes.Repeat([]byte{kind}, i*3))
	}
	return b
}

func TestHTTP2AcknowledgementIsDropped(t *testing.T) {
	t.Parallel()
	ack := appendFrame(nil, frameSettings, flagAck, 0, nil)
	before, after := framesOf(frameSettings, frameHeaders, frameData), framesOf(frameData, frameHeaders)
	want := preface + string(before) + string(after) + string(ack)
	sent := preface + string(before) + string(ack) + string(after) + string(ack)
	for seed := range byte(20) {
		c := http2Caller{frames: frames{left: len(preface)}, drop: true}
		var got []byte
		split([]byte(sent), seed, func(p []byte) { got = append(got, c.fromCaller(p)...) })
		if string(got) != want {
			t.Errorf("got %q", got)
		}
	}
}

// GOAWAY is put in at the first boundary after the agent decided to leave, and never
// within headers.
func TestHTTP2GoAway(t *testing.T) {
	t.Parallel()
	settings := framesOf(frameSettings)
	open := appendFrame(nil, frameHeaders, 0, 1, []byte("abc"))
	end := appendFrame(nil, frameContinuation, flagEndHeaders, 1, []byte("def"))
	data := framesOf(frameData, frameData)
	all := bytes.Join([][]byte{settings, open, end, data}, nil)
	for leaveAt := range len(all) {
		var s http2Process
		got := s.toCaller(all[:leaveAt:leaveAt], false)
		got = append(got[:len(got):len(got)], s.toCaller(all[leaveAt:], true)...)
		at := len(settings)
		switch {
		case leaveAt <= len(settings):
		case leaveAt <= len(settings)+len(open)+len(end):
			at += len(open) + len(end)
		default:
			at = len(all) - len(data) + frameHead
			if leaveAt > at {
				at = len(all)
			}
		}
		want := string(all[:at]) + string(goAway(lastStream)) + string(all[at:])
		if string(got) != want {
			t.Errorf("leaving at %d: got %q", leaveAt, got)
		}
	}
}

func FuzzHTTP2(f *testing.F) {
	f.Add(framesOf(frameSettings, frameHeaders, frameData), byte(1), 3)
	f.Add(appendFrame(nil, frameSettings, flagAck, 0, nil), byte(2), 0)
	f.Fuzz(func(t *testing.T, sent []byte, seed byte, leaveAt int) {
		var got []byte
		var s http2Process
		split(sent, seed, func(p []byte) { got = append(got, s.toCaller(p, len(got) >= leaveAt)...) })
		if !bytes.Equal(bytes.Replace(got, goAway(lastStream), nil, 1), bytes.Replace(sent, goAway(lastStream), nil, 1)) {
			t.Errorf("to the caller %q became %q", sent, got)
		}
		got = nil
		c := http2Caller{drop: true}
		split(sent, seed, func(p []byte) { got = append(got, c.fromCaller(p)...) })
		got = append(got, c.head[:c.have]...)
		if dropped := len(sent) - len(got); dropped != 0 && dropped != frameHead || dropped == frameHead && c.drop {
			t.Errorf("of %q went %q", sent, got)
		}
	})
}
