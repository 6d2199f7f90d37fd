//go:build unix

package runtime_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

func closeWrite(t *testing.T, conn net.Conn) {
	t.Helper()
	must(t, conn.(interface{ CloseWrite() error }).CloseWrite())
}

// A process that has ended what it says is still told all that a caller has to say.
func TestProcessEndsItsHalf(t *testing.T) {
	t.Parallel()
	r, _ := serving(t, "early")
	conn := dial(t, r)
	said, err := io.ReadAll(conn)
	if want := fmt.Sprintf("220 %d\n", r.State().PID); err != nil || string(said) != want {
		t.Errorf("it says %q, %v, want %q", said, err, want)
	}
	const size = 1 << 20
	for range 4 {
		_, err := conn.Write(make([]byte, size/4))
		must(t, err)
	}
	closeWrite(t, conn)
	r.printed(fmt.Sprintf("took %d <nil>\n", size))
}

// A caller that has ended what it says gets its answer, and then the end: nothing waits
// for another request.
func TestCallerEndsItsHalf(t *testing.T) {
	t.Parallel()
	r, _ := serving(t, "web")
	const head = " / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n"
	for _, requests := range []string{"", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "POST" + head + "abc", "POST" + head + "abcPOST" + head + "abc", "POST" + head + "a"} {
		conn := dial(t, r)
		written := make(chan error, 1)
		go func() { // which takes a second request only after the first answer
			_, err := io.WriteString(conn, requests)
			if err == nil {
				err = conn.(interface{ CloseWrite() error }).CloseWrite()
			}
			written <- err
		}()
		all, err := io.ReadAll(conn)
		if got, want := strings.Count(string(all), "HTTP/1.1 200 OK"), strings.Count(requests, " /"); err != nil || got != want && !strings.HasSuffix(requests, "\na") {
			t.Errorf("to %q it answers %q, %v", requests, all, err)
		}
		must(t, <-written)
	}
}

// A request that is made once more is made whole, also where its caller has ended what it
// says.
func TestCallerEndsItsHalfOfARepeatedRequest(t *testing.T) {
	t.Parallel()
	r, _ := serving(t, "flaky")
	for range 20 {
		conn := dial(t, r)
		_, err := io.WriteString(conn, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
		must(t, err)
		closeWrite(t, conn)
		all, err := io.ReadAll(conn)
		if err != nil || !strings.HasSuffix(string(all), "/x 0 <nil>") {
			t.Errorf("it answers %q, %v", all, err)
		}
	}
}

// Connections that are closed leave nothing behind here, and none to the process, in
// whatever state they were.
func TestConnectionsLeaveNothing(t *testing.T) {
	t.Parallel()
	r, _ := serving(t, "raw")
	from := len(r.output.all())
	const count = 50
	for i := range count {
		conn := dial(t, r)
		if i%2 == 0 {
			_, err := io.WriteString(conn, "EHLO\r\n")
			must(t, err)
		}
		if i%3 == 0 {
			closeWrite(t, conn)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = io.Copy(io.Discard, conn)
		}()
		must(t, conn.Close())
		<-ended
	}
	for range count { // the process sees each of them end
		_, at, ok := r.output.until(from, func(line string) bool { return line == "gone\n" })
		if from = at + 1; !ok {
			t.Fatal("Run has ended")
		}
	}
}
