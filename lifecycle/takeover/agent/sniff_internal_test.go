package agent

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2/hpack"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// FuzzCaller sends anything to a port with every probe. It is a probe, or all of it
// goes to the process; and when nobody serves, it is refused. Nothing of it panics.
func FuzzCaller(f *testing.F) {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for name, value := range map[string]string{":path": healthCheck, "user-agent": probeAgent, "content-type": "application/grpc"} {
		encoder.WriteField(hpack.HeaderField{Name: name, Value: value})
	}
	settings := appendFrame([]byte(preface), frameSettings, 0, 0, nil)
	headers := appendFrame(nil, frameHeaders, flagEndHeaders, 1, block.Bytes())
	f.Add(append(settings, headers...), byte(1))
	f.Add(append(settings, appendFrame(nil, frameHeaders, flagPadded|flagPriority, 1, []byte{200})...), byte(1))
	f.Add([]byte("GET / HTTP/1.1\r\nUser-Agent: kube-probe/1\r\n\r\n"), byte(2))
	f.Add([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), byte(3))
	f.Add([]byte(strings.Repeat("G", 40)), byte(3))
	port := wire.Port{Number: 1, Probes: []string{wire.ProbeGRPC, wire.ProbeHTTP, wire.ProbeTCP}}
	f.Fuzz(func(t *testing.T, sent []byte, seed byte) {
		if len(sent) > maxProbe {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			verdict, got := received(sent, seed, port)
			switch {
			case verdict == answered:
			case !bytes.Equal(got, sent):
				t.Errorf("%q became %q", sent, got)
			}
			refusedAll(sent, seed)
		})
	})
}

// talk sends all of sent through a pipe, while f has its other end.
func talk(sent []byte, seed byte, f func(*caller)) {
	near, far := net.Pipe()
	go io.Copy(io.Discard, near)
	go func() {
		split(sent, seed, func(p []byte) { near.Write(p) })
		near.Close()
	}()
	f(&caller{Conn: far})
	far.Close()
	near.Close()
	synctest.Wait()
}

func received(sent []byte, seed byte, port wire.Port) (verdict sniffed, got []byte) {
	talk(sent, seed, func(c *caller) {
		if verdict = sniff(c, port); verdict != answered {
			got, _ = io.ReadAll(c)
		}
	})
	return verdict, got
}

func refusedAll(sent []byte, seed byte) {
	talk(sent, seed, func(c *caller) { newRefuser().refuse(c, answer{text: "nobody serves"}, false) })
}

// Whoever sends headers that stand for very many, or one that is longer than the agent
// keeps, gets the answer still.
func TestManyHeadersAreRefused(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]func(*hpack.Encoder, *bytes.Buffer){
		"many": func(_ *hpack.Encoder, block *bytes.Buffer) {
			for block.Len() < maxFrameSize-1 {
				block.WriteByte(0x80 | 62) // the newest field of the table
			}
		},
		"long": func(encoder *hpack.Encoder, _ *bytes.Buffer) {
			encoder.WriteField(hpack.HeaderField{Name: "cookie", Value: strings.Repeat("~", maxHeader+1)})
		},
	} {
		var block, said bytes.Buffer
		encoder := hpack.NewEncoder(&block)
		encoder.WriteField(hpack.HeaderField{Name: "content-type", Value: "application/grpc"})
		encoder.WriteField(hpack.HeaderField{Name: "x", Value: strings.Repeat("y", 3000)})
		fill(encoder, &block)
		frames := appendFrame([]byte(preface), frameSettings, 0, 0, nil)
		frames = appendFrame(frames, frameHeaders, flagEndStream|flagEndHeaders, 1, block.Bytes())
		near, far := net.Pipe()
		go func() {
			near.Write(frames)
			near.Close()
		}()
		newRefuser().refuse(&caller{Conn: answers{far, &said}}, answer{text: "nobody serves"}, false)
		if !bytes.Contains(said.Bytes(), []byte("nobody")) && !bytes.Contains(said.Bytes(), hpack.AppendHuffmanString(nil, "nobody serves")) {
			t.Errorf("%s: it was answered %q", name, said.Bytes())
		}
	}
}

// answers keeps what is written.
type answers struct {
	net.Conn
	said *bytes.Buffer
}

func (a answers) Write(p []byte) (int, error) { return a.said.Write(p) }
