package relay_test

import (
	"io"
	"net"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/relay"
)

// plain joins caller and process as a TCP relay does, for comparison.
func plain(b *testing.B) (caller, process *net.TCPConn) {
	caller, accepted := tcpPair(b)
	dialled, process := tcpPair(b)
	for _, ends := range [][2]*net.TCPConn{{accepted, dialled}, {dialled, accepted}} {
		go func() {
			io.Copy(ends[0], ends[1])
			ends[0].CloseWrite()
		}()
	}
	return caller, process
}

func throughStream(b *testing.B) (caller, process *net.TCPConn) {
	j := newStream(b).join(b, relay.New(), relay.New(), false)
	return j.caller, j.process
}

// Benchmark compares a connection through the stream with one through a TCP relay,
// all over loopback: the time of a round trip, and bytes per second.
func Benchmark(b *testing.B) {
	for name, connect := range map[string]func(*testing.B) (caller, process *net.TCPConn){
		"tcp": plain, "stream": throughStream,
	} {
		b.Run("roundtrip/"+name, func(b *testing.B) {
			caller, process := connect(b)
			go io.Copy(process, process)
			message := make([]byte, 200)
			for b.Loop() {
				write(b, caller, message)
				if _, err := io.ReadFull(caller, message); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("bulk/"+name, func(b *testing.B) {
			caller, process := connect(b)
			chunk := make([]byte, 1<<20)
			go func() {
				for {
					if _, err := process.Write(chunk); err != nil {
						return
					}
				}
			}()
			b.SetBytes(int64(len(chunk)))
			for b.Loop() {
				if _, err := io.ReadFull(caller, chunk); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
