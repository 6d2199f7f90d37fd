package job_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
)

// cutting breaks the connections of logs, each after some bytes more than the one before:
// each gets on, even where all of a log came within a second, which comes again as a
// whole.
type cutting struct {
	http.RoundTripper
	// hold, if it is there, delays the first connection until it is closed.
	hold     <-chan struct{}
	connects atomic.Int32
	cuts     atomic.Int32
}

const cutAfter = 1000

func (c *cutting) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/log") {
		return c.RoundTripper.RoundTrip(r)
	}
	if c.hold != nil {
		select {
		case <-c.hold:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	answer, err := c.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = &cutBody{ReadCloser: answer.Body, left: cutAfter * int(c.connects.Add(1)), cuts: &c.cuts}
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

// printing is a build whose step prints lines, and whose log comes over connections that
// break.
type printing struct {
	t       *testing.T
	lines   int
	builder *dockerfile.Builder
	request lifecycle.BuildRequest
	printed bytes.Buffer
}

func (c *cutting) printing(n *node, lines int, pause string) *printing {
	n.t.Helper()
	base, digest := n.base()
	config := n.config()
	config.REST.Wrap(func(next http.RoundTripper) http.RoundTripper {
		c.RoundTripper = next
		return c
	})
	p := &printing{t: n.t, lines: lines, builder: n.builder(config)}
	p.request = n.request(web, map[string]string{base: digest}, map[string]string{
		"web/Dockerfile": fmt.Sprintf("FROM %s\nRUN for i in $(seq 1 %d); do echo this is line $i.; %s; done\n", base, lines, pause)})
	p.request.Output = &p.printed
	return p
}

func (p *printing) build(ctx context.Context) error {
	_, err := p.builder.Build(ctx, p.request)
	return err
}

// whole wants each line once, and in order.
func (p *printing) whole() {
	p.t.Helper()
	printed, at := p.printed.String(), 0
	for i := 1; i <= p.lines; i++ {
		line := fmt.Sprintf(" this is line %d.\n", i)
		if n := strings.Count(printed, line); n != 1 {
			p.t.Errorf("%q is there %d times", line, n)
		}
		found := strings.Index(printed, line)
		if found < at {
			p.t.Errorf("%q stands before what came earlier", line)
		}
		at = found
	}
	if p.t.Failed() {
		p.t.Log(printed)
	}
}

// However often the connection breaks, each line of the log comes once, and in order.
func TestNodeLogIsWhole(t *testing.T) {
	t.Parallel()
	c := &cutting{}
	p := c.printing(onNode(t), 40, "usleep 20000")
	if err := p.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.whole()
	if c.cuts.Load() == 0 {
		t.Error("no connection was cut")
	}
}

// The log of a container that has ended comes as whole, over as many connections as it
// takes.
func TestNodeLogOfABuildThatEnded(t *testing.T) {
	t.Parallel()
	n := onNode(t)
	ended := make(chan struct{})
	c := &cutting{hold: ended}
	p := c.printing(n, 300, "true")
	built := make(chan error, 1)
	go func() { built <- p.build(t.Context()) }()
	n.buildEnded(n.job(t.Context()))
	close(ended)
	if err := <-built; err != nil {
		t.Fatal(err)
	}
	p.whole()
	if cuts := c.cuts.Load(); cuts < 5 {
		t.Errorf("%d connections were cut", cuts)
	}
}

// buildEnded waits until the container that builds has ended.
func (n *node) buildEnded(j *batchv1.Job) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	defer cancel()
	w, err := n.client.CoreV1().Pods(n.namespace).Watch(ctx, metav1.ListOptions{LabelSelector: batchv1.ControllerUidLabel + "=" + string(j.UID)})
	if err != nil {
		n.t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		p, ok := e.Object.(*corev1.Pod)
		if ok && slices.ContainsFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
			return s.Name == "build" && s.State.Terminated != nil
		}) {
			return
		}
	}
	n.t.Fatal("the build does not end")
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
