package agent

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

const (
	// answerWait is how long a caller may take to say what it wants, when nobody
	// serves.
	answerWait = 5 * time.Second
	// maxFirst is how much of it is read to know what it speaks.
	maxFirst = 2 << 10
	// lingerTime and lingerBytes are how long, and how much, what a caller still
	// sends is read after it was answered: closed before, it might lose the answer.
	lingerTime  = time.Second
	lingerBytes = 1 << 20
)

// answer is what a caller is told whose request no process answers.
type answer struct {
	text string
	// lost says that the request may have reached the process: nobody may make it
	// again unasked.
	lost bool
}

// unserved says to a caller why nobody answers, and what to do.
func unserved(s wire.Session) answer {
	return answer{text: fmt.Sprintf("%s was taken over by %s at %s, and nobody answers for it now: the workstation is away, "+
		"or its process is down. It comes back with them, or with the workload itself when the takeover ends: "+
		"\"kubectl pharos handback\" ends it, from another machine with --force.",
		s.Workload, s.Holder, s.Since.Format(time.RFC3339))}
}

// crowded says to a caller that there are too many.
func crowded(s wire.Session) answer {
	return answer{text: fmt.Sprintf("%s was taken over by %s at %s, and %d connections are open or wait for its process: "+
		"there is no place for another one in this pod now. \"kubectl pharos handback\" ends the takeover, from another machine with --force.",
		s.Workload, s.Holder, s.Since.Format(time.RFC3339), maxCallers)}
}

// interrupted says to a caller that nobody knows what became of its request.
func interrupted(s wire.Session) answer {
	return answer{lost: true, text: fmt.Sprintf("%s was taken over by %s at %s. This request had been handed on to the workstation when the "+
		"connection to its process was lost, before a byte of the answer came: it may have been processed, so look before you repeat it.",
		s.Workload, s.Holder, s.Since.Format(time.RFC3339))}
}

// refuse answers a caller that nobody serves, in the protocol that it speaks, and
// closes the connection. With greeted its preface of HTTP/2 was answered already.
func (r *refuser) refuse(c *caller, a answer, greeted bool) {
	defer c.Close()
	deadline := time.Now().Add(answerWait)
	for speaks(c.ahead) == unknownYet && c.fill(maxFirst, deadline) {
	}
	switch speaks(c.ahead) {
	case speaksHTTP1:
		refuseHTTP1(c, isHead(c.ahead), a)
	case speaksHTTP2:
		if !r.begin(deadline) {
			return
		}
		defer r.end()
		c.SetDeadline(deadline)
		refuseHTTP2(c, a.text, greeted)
	}
}

// turnAway answers a caller at once, if it speaks HTTP/1 and has said so, and closes
// the connection.
func turnAway(c *caller, a answer) {
	defer c.Close()
	c.fill(maxFirst, time.Now().Add(time.Millisecond)) // what has come already
	if speaks(c.ahead) == speaksHTTP1 {
		c.SetWriteDeadline(time.Now().Add(time.Millisecond))
		io.WriteString(c, a.http1(isHead(c.ahead)))
	}
}

// refuser refuses callers: not more than maxRefusals of HTTP/2 at once, since each of
// them has a table of headers.
type refuser struct{ http2 chan struct{} }

func newRefuser() *refuser { return &refuser{http2: make(chan struct{}, maxRefusals)} }

// begin waits for a turn, until deadline.
func (r *refuser) begin(deadline time.Time) bool {
	late := time.NewTimer(time.Until(deadline))
	defer late.Stop()
	select {
	case r.http2 <- struct{}{}:
		return true
	case <-late.C:
		return false
	}
}

func (r *refuser) end() { <-r.http2 }

func isHead(first []byte) bool { return strings.HasPrefix(string(first[:min(len(first), 8)]), "HEAD ") }

// http1 is the answer in HTTP/1.
func (a answer) http1(head bool) string {
	status, retry := "503 Service Unavailable", "Retry-After: 5\r\n"
	if a.lost {
		status, retry = "502 Bad Gateway", ""
	}
	body := a.text + "\n"
	text := fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\n"+
		"Content-Length: %d\r\nCache-Control: no-store\r\n%sConnection: close\r\n\r\n", status, len(body), retry)
	if head {
		return text
	}
	return text + body
}

func refuseHTTP1(c *caller, head bool, a answer) { answerHTTP1(c, a.http1(head)) }

func answerHTTP1(c *caller, answer string) {
	c.SetWriteDeadline(time.Now().Add(lingerTime))
	if _, err := io.WriteString(c, answer); err == nil {
		linger(c)
	}
}

// linger ends what is sent to a caller, and reads on for a while.
func linger(c *caller) {
	c.CloseWrite()
	c.Conn.SetReadDeadline(time.Now().Add(lingerTime))
	discard(c.Conn, lingerBytes)
}

// discard reads up to n bytes and forgets them, with a buffer that thousands may have.
func discard(from io.Reader, n int) error {
	buf := make([]byte, 512)
	for n > 0 {
		got, err := from.Read(buf[:min(n, len(buf))])
		if n -= got; err != nil {
			return err
		}
	}
	return nil
}

type protocol int

const (
	unknownYet protocol = iota
	speaksHTTP1
	speaksHTTP2
	speaksOther
)

// speaks tells from a connection's first bytes what it speaks. A line that does not
// end is long, and HTTP/1 if it begins so.
func speaks(first []byte) protocol {
	if len(first) >= len(preface) && string(first[:len(preface)]) == preface {
		return speaksHTTP2
	}
	if strings.HasPrefix(preface, string(first)) {
		return unknownYet
	}
	end := bytes.IndexByte(first, '\n')
	if end >= 0 && requestLine.Match(first[:end+1]) {
		return speaksHTTP1
	}
	method, _, ok := bytes.Cut(first, []byte(" "))
	switch {
	case end >= 0 || !isMethod(method):
		return speaksOther
	case ok && len(first) >= maxFirst:
		return speaksHTTP1
	}
	return unknownYet
}

var requestLine = regexp.MustCompile("^([!#$%&'*+.^_|~`0-9A-Za-z-]{1,32}) [^ \r\n]+ HTTP/1\\.[01]\r?\n")
