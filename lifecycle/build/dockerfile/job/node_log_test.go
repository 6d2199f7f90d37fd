package job_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// cutting breaks the connections of logs after some bytes.
type cutting struct {
	http.RoundTripper
	cuts atomic.Int32
}

const cutAfter = 3000

func (c *cutting) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.RoundTripper.RoundTrip(r)
	if err == nil && strings.HasSuffix(r.URL.Path, "/log") {
		answer.Body = &cutBody{ReadCloser: answer.Body, left: cutAfter, cuts: &c.cuts}
	}
	return answer, err
}

type cutBody struct {
	io.ReadCloser
	left int
	cuts *atomic.Int32
}

func (b *cutBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		b.cuts.Add(1)
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// However often the connection breaks, each line of the log comes once, and in order.
func TestNodeLogIsWhole(t *testing.T) {
	t.Parallel()
	n := onNode(t)
	base, digest := n.base()
	c := n.config()
	transport := &cutting{}
	c.REST.Wrap(func(next http.RoundTripper) http.RoundTripper {
		transport.RoundTripper = next
		return transport
	})
	r := n.request(web, map[string]string{base: digest}, map[string]string{
		"web/Dockerfile": "FROM " + base + "\nRUN for i in $(seq 1 40); do echo this is line $i.; usleep 20000; done\n"})
	var printed bytes.Buffer
	r.Output = &printed
	if _, err := n.builder(c).Build(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	at := 0
	for i := 1; i <= 40; i++ {
		line := fmt.Sprintf(" this is line %d.\n", i)
		if n := strings.Count(printed.String(), line); n != 1 {
			t.Errorf("%q is there %d times", line, n)
		}
		found := strings.Index(printed.String(), line)
		if found < at {
			t.Errorf("%q stands before what came earlier", line)
		}
		at = found
	}
	if transport.cuts.Load() == 0 {
		t.Error("no connection was cut")
	}
	if t.Failed() {
		t.Log(printed.String())
	}
}

// A step that mounts an SSH agent gets one that has the key of the Secret.
func TestNodeSSH(t *testing.T) {
	t.Parallel()
	n := onNode(t)
	base, digest := n.base()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	n.secret("ssh", "default", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
	c := n.config()
	c.SSHSecret = "ssh"
	r := n.request("- {name: web, build: {dockerfile: {path: web/Dockerfile, ssh: [default]}}, inputs: [web]}\n", map[string]string{base: digest}, map[string]string{
		"web/Dockerfile": "FROM " + base + "\nRUN --mount=type=ssh test -S \"$SSH_AUTH_SOCK\"\n"})
	if _, err := n.builder(c).Build(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}
