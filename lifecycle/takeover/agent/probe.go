package agent

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

const (
	// sniffTime is how long a caller on a port with an HTTP or gRPC probe may take
	// to show that it is the kubelet. Later it is somebody else.
	sniffTime = time.Second
	// tcpSniffTime is the same where the kubelet only connects and goes. It is added
	// to a connection on which the process speaks first.
	tcpSniffTime = 20 * time.Millisecond
	// maxProbe is more than a probe's request has up to its user agent.
	maxProbe = 2 << 10

	probeAgent  = "kube-probe/"
	healthCheck = "/grpc.health.v1.Health/Check"
)

// sniffed is what was learned of a caller before a connection was opened for it.
type sniffed int

const (
	somebody   sniffed = iota // and what was read ahead is what they sent
	terminated                // HTTP/2, whose preface was answered
	answered                  // a probe; the connection is closed
)

// sniff answers a probe of the port, if this is one.
func sniff(c *caller, port wire.Port) sniffed {
	http := slices.Contains(port.Probes, wire.ProbeHTTP)
	grpc := slices.Contains(port.Probes, wire.ProbeGRPC)
	if !http && !grpc {
		if !slices.Contains(port.Probes, wire.ProbeTCP) {
			return somebody
		}
		c.fill(maxProbe, time.Now().Add(tcpSniffTime))
		return leftSilently(c)
	}
	deadline := time.Now().Add(sniffTime)
	for {
		switch speaks(c.ahead) {
		case speaksHTTP2:
			if grpc {
				return sniffGRPC(c, deadline)
			}
			return somebody
		case speaksHTTP1:
			if !http {
				return somebody
			}
			if agent, known := userAgent(c.ahead); known {
				if !strings.HasPrefix(agent, probeAgent) {
					return somebody
				}
				answerHTTP1(c, "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"+
					"Content-Length: 3\r\nConnection: close\r\n\r\nok\n")
				c.Close()
				return answered
			}
		case speaksOther:
			return somebody
		}
		if !c.fill(maxProbe, deadline) {
			return leftSilently(c)
		}
	}
}

// leftSilently closes the connection of a caller that ended it without a byte.
func leftSilently(c *caller) sniffed {
	if len(c.ahead) > 0 || c.err == nil {
		return somebody
	}
	c.Close()
	return answered
}

// userAgent returns the first user agent of a head that may not be complete, and
// whether that is known by now.
func userAgent(head []byte) (agent string, known bool) {
	_, rest, _ := bytes.Cut(head, []byte("\n"))
	for {
		field, after, ok := bytes.Cut(rest, []byte("\n"))
		if !ok {
			return "", false
		}
		name, value, _ := bytes.Cut(field, []byte(":"))
		switch {
		case len(bytes.TrimRight(field, "\r")) == 0:
			return "", true
		case bytes.EqualFold(name, []byte("User-Agent")):
			return string(bytes.TrimSpace(value)), true
		}
		rest = after
	}
}

// sniffGRPC answers the caller's preface, since a gRPC client sends no request
// before, and looks at its first request.
func sniffGRPC(c *caller, deadline time.Time) sniffed {
	if _, err := c.Write(appendFrame(nil, frameSettings, 0, 0, nil)); err != nil {
		c.Close()
		return answered
	}
	for {
		request, verdict := firstRequest(c.ahead[len(preface):])
		switch {
		case verdict == nil && isGRPCProbe(request):
			answerGRPCProbe(c, request.stream)
			return answered
		case verdict == nil || errors.Is(verdict, errNotHTTP2):
			return terminated
		}
		if !c.fill(maxProbe, deadline) {
			return terminated
		}
	}
}

// request is the first request of a connection of HTTP/2.
type request struct {
	stream uint32
	fields headers
}

var errMore = errors.New("more has to be read")

// firstRequest finds the first request in a caller's frames. The error matches
// errMore if it has not come whole, and errNotHTTP2 if it is none of a probe.
func firstRequest(p []byte) (request, error) {
	for len(p) >= frameHead {
		f := parseFrame(p)
		if f.length > maxFrameSize {
			return request{}, errNotHTTP2
		}
		if len(p) < frameHead+f.length {
			return request{}, errMore
		}
		payload := p[frameHead : frameHead+f.length]
		p = p[frameHead+f.length:]
		switch f.kind {
		case frameHeaders:
			block, err := headerBlock(f, payload)
			if err != nil || f.flags&flagEndHeaders == 0 {
				return request{}, errNotHTTP2
			}
			r := request{stream: f.stream}
			decoder := newDecoder(&r.fields, maxProbe)
			if _, err := decoder.Write(block); err != nil || decoder.Close() != nil {
				return request{}, errNotHTTP2
			}
			return r, nil
		case framePing, frameGoAway:
			return request{}, errNotHTTP2 // which wants an answer, or none
		}
	}
	return request{}, errMore
}

func isGRPCProbe(r request) bool {
	return r.fields.path == healthCheck && strings.HasPrefix(r.fields.userAgent, probeAgent)
}

// answerGRPCProbe answers Check with SERVING, and closes the connection.
func answerGRPCProbe(c *caller, stream uint32) {
	defer c.Close()
	var buf bytes.Buffer
	encoder := newEncoder(&buf)
	serving := []byte{0, 0, 0, 0, 2, 8, 1} // not compressed, 2 bytes, HealthCheckResponse{status: SERVING}
	out := appendFrame(nil, frameSettings, flagAck, 0, nil)
	out = appendHeaders(out, &buf, encoder, stream, 0, ":status", "200", "content-type", "application/grpc")
	out = appendFrame(out, frameData, 0, stream, serving)
	out = appendHeaders(out, &buf, encoder, stream, flagEndStream, "grpc-status", "0")
	c.SetWriteDeadline(time.Now().Add(lingerTime))
	if _, err := fmt.Fprintf(c, "%s", out); err == nil {
		linger(c)
	}
}
