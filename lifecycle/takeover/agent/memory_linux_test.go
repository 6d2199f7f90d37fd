package agent_test

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// maxMemory is what an end of the stream may have at most, in KiB.
const maxMemory = 64 << 10

// end is an end of a stream in a process of its own.
type end struct {
	*exec.Cmd
	stdin io.Closer
	lines *bufio.Scanner
}

func startEnd(t *testing.T, program string, args ...string) *end {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Stderr = t.Output()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return &end{Cmd: cmd, stdin: stdin, lines: bufio.NewScanner(stdout)}
}

func (e *end) line(t *testing.T) string {
	t.Helper()
	if !e.lines.Scan() {
		t.Fatalf("%s has ended", e.Path)
	}
	return e.lines.Text()
}

// peak is the most memory that it has had, in KiB.
func (e *end) peak(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", e.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	kib, err := strconv.Atoi(strings.Fields(string(rest))[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib
}

// Two thousand connections, every eighth stalled in each direction with more sent than
// anybody buffers, and bulk on another: neither end has more than 64 MiB.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	const idle, stalled, bulk = 1500, 250, 16 << 20
	program := filepath.Join(t.TempDir(), "ends")
	if out, err := exec.Command("go", "build", "-o", program, "./testdata/ends").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	seed := make([]byte, ed25519.SeedSize)
	key := ed25519.NewKeyFromSeed(seed)
	doc, err := newSession(key, wire.Port{Number: 8080}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "session.json")
	if err := os.WriteFile(path, doc, 0o600); err != nil {
		t.Fatal(err)
	}
	process, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer process.Close()
	agent := startEnd(t, program, "agent", path)
	control, port := agent.line(t), agent.line(t)
	workstation := startEnd(t, program, "workstation", control, process.Addr().String(), hex.EncodeToString(seed))
	workstation.line(t)

	pair := func() (caller, local *net.TCPConn) {
		dialled, err := net.Dial("tcp", port)
		if err != nil {
			t.Fatal(err)
		}
		accepted, err := process.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			dialled.Close()
			accepted.Close()
		})
		return dialled.(*net.TCPConn), accepted.(*net.TCPConn)
	}
	for range idle {
		caller, local := pair()
		exchange(t, caller, local, 3000)
	}
	var sending sync.WaitGroup
	flood := make([]byte, 64<<20)
	for i := range 2 * stalled {
		caller, local := pair()
		from, to := caller, local
		if i%2 == 0 {
			from, to = local, caller
		}
		to.SetReadBuffer(4 << 10)
		sending.Go(func() {
			// Nobody reads it: it ends with the connection.
			if _, err := from.Write(flood); err == nil {
				t.Error("64 MiB were buffered")
			}
		})
	}
	t.Logf("with %d connections: agent %d KiB, workstation %d KiB", idle+2*stalled, agent.peak(t), workstation.peak(t))
	for _, upload := range []bool{false, true} {
		caller, local := pair()
		from, to := local, caller
		if upload {
			from, to = caller, local
		}
		sending.Go(func() {
			io.Copy(from, io.LimitReader(zeros{}, bulk))
			from.CloseWrite()
		})
		if n, err := io.Copy(io.Discard, to); n != bulk || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
	}
	for name, e := range map[string]*end{"agent": agent, "workstation": workstation} {
		kib := e.peak(t)
		t.Logf("%s: %d KiB", name, kib)
		if kib > maxMemory {
			t.Errorf("the %s had %d KiB", name, kib)
		}
		e.Process.Kill()
	}
	sending.Wait()
}

// More callers than are served send heads that do not end, to a process that reads, and
// of HTTP/2 to an agent that nobody serves: it has no more than 64 MiB.
func TestMemoryOfHostileHeads(t *testing.T) {
	t.Parallel()
	const callers, served = 2700, 2048
	program := filepath.Join(t.TempDir(), "ends")
	if out, err := exec.Command("go", "build", "-o", program, "./testdata/ends").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	seed := make([]byte, ed25519.SeedSize)
	key := ed25519.NewKeyFromSeed(seed)
	head := []byte("GET / HTTP/1.1\r\nHost: api\r\nCookie: " + strings.Repeat("a", 60<<10))
	frame := append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 0, 0x40, 0, 1, 5, 0, 0, 0, 1) // a HEADERS frame of 16 KiB
	frame = append(frame, 0x40, 0x7f, 0x81, 0x7e)                                             // whose first name has more than that
	frame = append(frame, bytes.Repeat([]byte("a"), 16<<10-8)...)
	for name, probes := range map[string][]string{"served": {wire.ProbeHTTP}, "unserved": {wire.ProbeGRPC, wire.ProbeHTTP}} {
		session := newSession(key, wire.Port{Number: 8080, Probes: probes})
		session.Away = wire.Duration(10 * time.Minute) // however busy the machine is
		first := head
		if name == "unserved" {
			session.Away, first = wire.Duration(15*time.Second), frame
		}
		doc, err := session.Encode()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "session.json")
		if err := os.WriteFile(path, doc, 0o600); err != nil {
			t.Fatal(err)
		}
		agent := startEnd(t, program, "agent", path)
		control, port := agent.line(t), agent.line(t)
		read := make(chan struct{}, callers)
		process, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { process.Close() })
		if name == "served" {
			go takeHeads(process, len(head), read)
			workstation := startEnd(t, program, "workstation", control, process.Addr().String(), hex.EncodeToString(seed))
			workstation.line(t)
		}
		var sending sync.WaitGroup
		for range callers {
			c, err := net.Dial("tcp", port)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			sending.Go(func() { c.Write(first) }) // some are sent away
		}
		sending.Wait()
		if name == "served" {
			for range served {
				<-read
			}
		}
		kib := agent.peak(t)
		t.Logf("%s: %d KiB", name, kib)
		if kib > maxMemory {
			t.Errorf("%s: the agent had %d KiB", name, kib)
		}
		agent.Process.Kill()
	}
}

// takeHeads reads n bytes of each connection, and goes on reading.
func takeHeads(process net.Listener, n int, read chan<- struct{}) {
	for {
		c, err := process.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			if _, err := io.CopyN(io.Discard, c, int64(n)); err == nil {
				read <- struct{}{}
			}
			io.Copy(io.Discard, c)
		}()
	}
}

// exchange sends n bytes each way.
func exchange(t *testing.T, a, b *net.TCPConn, n int) {
	t.Helper()
	for _, ends := range [][2]*net.TCPConn{{a, b}, {b, a}} {
		if _, err := ends[0].Write(make([]byte, n)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(ends[1], make([]byte, n)); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
