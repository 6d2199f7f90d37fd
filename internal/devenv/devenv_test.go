package devenv_test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

func client(t *testing.T, c *devenv.Cluster) kubernetes.Interface {
	t.Helper()
	return devtest.Client(t, c.Config())
}

func createConfigMap(t *testing.T, c *devenv.Cluster, name string) {
	t.Helper()
	_, err := client(t, c).CoreV1().ConfigMaps("default").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func wantConfigMap(t *testing.T, c *devenv.Cluster, name string) {
	t.Helper()
	if _, err := client(t, c).CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{}); err != nil {
		t.Errorf("what was written before is lost: %v", err)
	}
}

// wantNothingAt fails if the folder is there or anything answers at the address of the API server.
func wantNothingAt(t *testing.T, stateDir, server string) {
	t.Helper()
	if _, err := os.Lstat(stateDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the state folder is still there: %v", err)
	}
	wantClosed(t, server)
}

func wantClosed(t *testing.T, server string) {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", u.Host); err == nil {
		conn.Close()
		t.Errorf("something still listens at %s", u.Host)
	}
}

func TestRestartAndKillKeepEverything(t *testing.T) {
	t.Parallel()
	c := devtest.OwnCluster(t, devenv.Options{})
	before := c.Config()
	audit := devtest.RecordAudit(t, c)

	createConfigMap(t, c, "before-restart")
	if err := c.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantConfigMap(t, c, "before-restart")

	createConfigMap(t, c, "before-kill")
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	wantClosed(t, before.Host)
	// Whoever starts a cluster now sweeps, and leaves this one's folder alone.
	devtest.OwnCluster(t, devenv.Options{NoNode: true})
	if err := c.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantConfigMap(t, c, "before-kill")

	// A client from before still works: address, certificate and token are the same.
	old, err := kubernetes.NewForConfig(before)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Errorf("a client from before the restarts: %v", err)
	}
	var created []string
	for _, e := range audit.Events(t, devtest.InNamespace("default")) {
		if e.Verb == "create" && e.Resource == "configmaps" && e.User == "devcluster-admin" {
			created = append(created, string(e.Request))
		}
	}
	if len(created) != 2 {
		t.Errorf("the audit log shows %d of 2 creations across the restarts: %v", len(created), created)
	}

	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	wantNothingAt(t, c.StateDir(), before.Host)
	for what, err := range map[string]error{"restart": c.Restart(t.Context()), "resume": c.Resume(t.Context()), "kill": c.Kill()} {
		if !errors.Is(err, devenv.ErrStopped) {
			t.Errorf("%s after stop: got %v, want ErrStopped", what, err)
		}
	}
	if err := c.Stop(); err != nil {
		t.Errorf("a second stop: %v", err)
	}
}

func TestNamedStateFolderIsKept(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	c := devtest.OwnCluster(t, devenv.Options{StateDir: dir, NoNode: true})
	createConfigMap(t, c, "kept")
	server := c.Config().Host
	nodes, err := client(t, c).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 0 {
		t.Errorf("got %d nodes, %v; want none", len(nodes.Items), err)
	}
	if _, err := devenv.Start(t.Context(), devenv.Options{StateDir: dir}); err == nil || !strings.Contains(err.Error(), "another process uses this state folder") {
		t.Errorf("a second cluster in the folder: got %v", err)
	}
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	wantClosed(t, server)

	c = devtest.OwnCluster(t, devenv.Options{StateDir: dir})
	if got := c.Config().Host; got != server {
		t.Errorf("the address changed from %s to %s", server, got)
	}
	wantConfigMap(t, c, "kept")
}

func TestStateIsForItsOwnerOnly(t *testing.T) {
	t.Parallel()
	c := devtest.OwnCluster(t, devenv.Options{})
	for path, want := range map[string]os.FileMode{c.StateDir(): 0o700, c.Kubeconfig(): 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s: mode %o, want %o", path, got, want)
		}
	}
}

func TestStartThatFailsShowsTheLogAndLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	c := devtest.OwnCluster(t, devenv.Options{StateDir: dir, NoNode: true})
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	// Someone else takes the port.
	u, err := url.Parse(c.Config().Host)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = devenv.Start(t.Context(), devenv.Options{StateDir: dir})
	if failed := (*devenv.StartError)(nil); !errors.As(err, &failed) || !strings.Contains(failed.Log, "listen on this cluster's port again") {
		t.Errorf("got %v, want the log's own words", err)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	if _, err := devenv.Build(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "state")
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan struct{})
	go func() {
		defer cancel()
		// The folder is the first thing that the process makes.
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			if _, err := os.Stat(dir); err == nil {
				close(started)
				return
			}
			<-tick.C
		}
	}()
	_, err := devenv.Start(ctx, devenv.Options{StateDir: dir})
	<-started
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	// The process is gone: its folder can be used.
	devtest.OwnCluster(t, devenv.Options{StateDir: dir, NoNode: true})
}

func TestExistingClusterIsUsedOnlyByName(t *testing.T) {
	c := devtest.Cluster(t)
	t.Setenv("KUBECONFIG", c.Kubeconfig())
	dir := t.TempDir()
	e, err := devenv.Existing(c.ContextName(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client(t, e).CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if filepath.Dir(e.Kubeconfig()) != dir || e.ContextName() != c.ContextName() || e.Started() || e.StateDir() != "" {
		t.Errorf("got %q %q %t %q", e.Kubeconfig(), e.ContextName(), e.Started(), e.StateDir())
	}
	if err := e.Restart(t.Context()); !errors.Is(err, devenv.ErrNotStarted) {
		t.Errorf("restart: got %v, want ErrNotStarted", err)
	}
	if _, err := e.AuditFromNow(t.Context()); !errors.Is(err, devenv.ErrNotStarted) {
		t.Errorf("audit: got %v, want ErrNotStarted", err)
	}
	if err := e.Stop(); err != nil {
		t.Error(err)
	}
	// The current context is there, and yet not used.
	for _, name := range []string{"", "other"} {
		if _, err := devenv.Existing(name, t.TempDir()); err == nil {
			t.Errorf("context %q: no error", name)
		}
	}
}
