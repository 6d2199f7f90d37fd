//go:build unix

package runtime_test

import (
	"fmt"
	"testing"
)

// goService is a program that answers with its version, and ends gracefully.
const goService = `package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s := &http.Server{Addr: "127.0.0.1:" + os.Getenv("PORT"), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/slow" {
			time.Sleep(30 * time.Millisecond)
		}
		fmt.Fprint(w, version)
	})}
	go func() {
		<-ctx.Done()
		s.Shutdown(context.Background())
	}()
	fmt.Println("serving", version)
	if err := s.ListenAndServe(); err != http.ErrServerClosed {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}
`

// pythonService answers with its version. Nothing in it knows of a graceful end.
const pythonService = `import http.server, os, time

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/slow":
            time.sleep(0.03)
        body = VERSION.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_POST = do_GET
    def log_message(self, *args):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
`

// nodeService is one that node starts anew by itself.
const nodeService = `const http = require('node:http')
http.createServer((req, res) => {
  req.resume().on('end', () => setTimeout(() => res.end(VERSION), req.url === '/slow' ? 30 : 0))
}).listen(Number(process.env.PORT), 'localhost')
`

func version(i int) string { return fmt.Sprintf("v%02d", i) }

func goVersion(i int) string     { return fmt.Sprintf("package main\n\nconst version = %q\n", version(i)) }
func pythonVersion(i int) string { return fmt.Sprintf("VERSION = %q\n", version(i)) + pythonService }
func nodeVersion(i int) string   { return fmt.Sprintf("const VERSION = %q\n", version(i)) + nodeService }

func goModule(t testing.TB) (root string) {
	t.Helper()
	root = t.TempDir()
	write(t, root, "go.mod", "module example.com/web\n\ngo 1.26\n")
	write(t, root, "cmd/web/main.go", goService)
	write(t, root, "cmd/web/version.go", goVersion(0))
	return root
}
