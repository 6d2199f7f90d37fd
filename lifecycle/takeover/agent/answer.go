package agent

import (
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

const (
	// answerWait is how long a caller may take to say what it wants, when nobody
	// serves.
	answerWait = 5 * time.Second
	// maxRequestLine is how much of it is read to know what it speaks.
	maxRequestLine = 16 << 10
	// lingerTime and lingerBytes are how long, and how much, what a caller still
	// sends is read after it was answered: closed before, it might lose the answer.
	lingerTime  = time.Second
	lingerBytes = 1 << 20
)

// unserved says to a caller why nobody answers, and what to do.
func unserved(s wire.Session) string {
	return fmt.Sprintf("%s was taken over by %s at %s, and nobody answers for it now: the workstation is away, "+
		"or its process is down. It comes back with them, or with the workload itself when the takeover ends: "+
		"\"kubectl pharos handback\" ends it, from another machine with --force.",
		s.Workload, s.Holder, s.Since.Format(time.RFC3339))
}

// refuse answers a caller that nobody serves, in the protocol that it speaks, and
// closes the connection. With greeted its preface of HTTP/2 was answered already.
func refuse(c *caller, text string, greeted bool) {
	defer c.Close()
	deadline := time.Now().Add(answerWait)
	for speaks(c.ahead) == unknownYet && c.fill(maxRequestLine, deadline) {
	}
	switch speaks(c.ahead) {
	case speaksHTTP1:
		method, _, _ := strings.Cut(string(c.ahead[:min(len(c.ahead), 64)]), " ")
		refuseHTTP1(c, method, text)
	case speaksHTTP2:
		c.SetDeadline(deadline)
		refuseHTTP2(c, text, greeted)
	}
}

func refuseHTTP1(c *caller, method, text string) {
	body := text + "\n"
	head := fmt.Sprintf("HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n"+
		"Content-Length: %d\r\nCache-Control: no-store\r\nRetry-After: 5\r\nConnection: close\r\n\r\n", len(body))
	if method == "HEAD" {
		body = ""
	}
	answerHTTP1(c, head+body)
}

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
	io.Copy(io.Discard, io.LimitReader(net.Conn(c), lingerBytes))
}

type protocol int

const (
	unknownYet protocol = iota
	speaksHTTP1
	speaksHTTP2
	speaksOther
)

// speaks tells from a connection's first bytes what it speaks.
func speaks(first []byte) protocol {
	if len(first) >= len(preface) && string(first[:len(preface)]) == preface {
		return speaksHTTP2
	}
	if strings.HasPrefix(preface, string(first)) {
		return unknownYet
	}
	end := lineEnd(first, 0)
	switch {
	case end < 0 && plausible(first):
		return unknownYet
	case end > 0 && requestLine.Match(first[:end]):
		return speaksHTTP1
	}
	return speaksOther
}

// plausible says whether a line that is not complete may become a request's.
func plausible(line []byte) bool {
	for i, b := range line {
		switch {
		case b == ' ' && i > 0:
			return true
		case b < '!' || b > '~' || i >= 32:
			return false
		}
	}
	return true
}
