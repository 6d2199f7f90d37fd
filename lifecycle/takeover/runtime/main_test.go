//go:build unix

package runtime_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/pharos-dev/pharos/internal/killtest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
)

// TestMain lets this test binary be the programs that are run, and the process that runs
// them and is killed.
func TestMain(m *testing.M) {
	role, ok := os.LookupEnv("PHAROS_TEST_ROLE")
	if !ok {
		killtest.Main(m, guardian)
	}
	os.Exit(map[string]func() int{
		"web": web, "raw": raw, "crash": crash, "family": family, "child": child, "deaf": deaf, "early": early, "flaky": flaky, "grpc": remote, "daemon": daemon,
	}[role]())
}

// self has this test binary run in a role.
func self(t testing.TB, c *runtime.Config, role string, port uint16) {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	c.Command = []string{program}
	c.Env = append(c.Env, "PHAROS_TEST_ROLE="+role)
	if port != 0 {
		c.Env = append(c.Env, fmt.Sprintf("PORT=%d", port))
		c.Ports = []runtime.Port{{Container: 80, Local: port}}
	}
}

// web answers with what the file "content" holds when it starts, or when it is told to
// read it again.
func web() int {
	content, err := os.ReadFile("content")
	if err != nil || strings.Contains(string(content), "crash") {
		return 4
	}
	text := make(chan string, 1)
	text <- string(content)
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP)
	go func() {
		for range again {
			content, _ := os.ReadFile("content")
			<-text
			text <- string(content)
		}
	}()
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		now := <-text
		text <- now
		fmt.Fprintf(w, "%s of %d", now, os.Getpid())
	})
	// A long request says that it has begun, and goes on until it is sent something.
	http.HandleFunc("/long", func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		_ = c.EnableFullDuplex()
		w.WriteHeader(http.StatusOK)
		_ = c.Flush()
		rest, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s of %d", rest, os.Getpid())
	})
	http.HandleFunc("/upgrade", func(w http.ResponseWriter, r *http.Request) {
		conn, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = conn.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"))
		_, _ = io.Copy(conn, buf)
	})
	http.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	fmt.Println((&http.Server{Addr: "127.0.0.1:" + os.Getenv("PORT"), Protocols: protocols(true, true)}).ListenAndServe())
	return 1
}

// protocols are those that are spoken without TLS.
func protocols(http1, http2 bool) *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(http1)
	p.SetUnencryptedHTTP2(http2)
	return p
}

// remote serves gRPC, which has the server speak first. Nothing in it knows of a graceful
// end.
func remote() int {
	l, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		return 1
	}
	s := grpc.NewServer()
	healthpb.RegisterHealthServer(s, health.NewServer())
	fmt.Println(s.Serve(l))
	return 1
}

// raw speaks first, and says at the end how much it was sent, and to its output that it
// has come to that.
func raw() int {
	l, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		return 1
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return 1
		}
		go func() {
			defer conn.Close()
			_, _ = fmt.Fprintf(conn, "220 %d\n", os.Getpid())
			n, _ := io.Copy(io.Discard, conn)
			_, _ = fmt.Fprintf(conn, "%d bytes\n", n)
			fmt.Println("gone")
		}()
	}
}

// listen serves each connection in a goroutine of its own, with its number from 0.
func listen(serve func(n int, conn *net.TCPConn)) int {
	l, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		return 1
	}
	for n := 0; ; n++ {
		conn, err := l.Accept()
		if err != nil {
			return 1
		}
		go serve(n, conn.(*net.TCPConn))
	}
}

// early says all that it has to say, ends that, and takes what it is sent.
func early() int {
	return listen(func(_ int, conn *net.TCPConn) {
		defer conn.Close()
		_, _ = fmt.Fprintf(conn, "220 %d\n", os.Getpid())
		_ = conn.CloseWrite()
		n, err := io.Copy(io.Discard, conn)
		if n > 0 { // else it was looked at whether it listens
			fmt.Println("took", n, err)
		}
	})
}

// flaky answers only every other request, once it has come to its end.
func flaky() int {
	requests := make(chan int, 1)
	requests <- 0
	return listen(func(_ int, conn *net.TCPConn) {
		defer conn.Close()
		request, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		n := <-requests
		requests <- n + 1
		if n%2 == 0 {
			return
		}
		rest, err := io.ReadAll(conn) // what comes behind the request
		text := fmt.Sprintf("%s %d %v", request.URL, len(rest), err)
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
	})
}

func crash() int {
	fmt.Println("crashing")
	return 3
}

// family is a program with children and grandchildren that do not want to end. Each
// prints its number.
func family() int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	depth, _ := strconv.Atoi(os.Getenv("DEPTH"))
	program, err := os.Executable()
	if err != nil {
		return 1
	}
	for range 2 {
		if depth == 3 {
			break
		}
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), fmt.Sprintf("DEPTH=%d", depth+1), "PORT=0")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			return 1
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		return 1
	}
	defer l.Close()
	fmt.Println("pid", os.Getpid())
	select {}
}

func child() int { select {} }

// daemon has a child serve that leaves its process group.
func daemon() int {
	program, err := os.Executable()
	if err != nil {
		return 1
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "PHAROS_TEST_ROLE=web")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 1
	}
	fmt.Println("pid", cmd.Process.Pid)
	select {}
}

// deaf listens nowhere, and ends when it is asked to.
func deaf() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	fmt.Println("here")
	<-ctx.Done()
	return 0
}
