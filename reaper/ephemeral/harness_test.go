package ephemeral_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper/ephemeral"
)

// patience is how long a test waits for what does not come.
const patience = 3 * time.Minute

// agent returns a configuration whose requests the audit log tells apart.
func agent(t *testing.T, c *devenv.Cluster) (config *rest.Config, mine func(devenv.AuditEvent) bool) {
	t.Helper()
	config = rest.CopyConfig(c.Config())
	config.UserAgent = t.Name()
	return config, func(e devenv.AuditEvent) bool { return e.UserAgent == t.Name() }
}

// await polls until ok returns true.
func await(t *testing.T, what string, ok func(ctx context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		return ok(ctx), nil
	})
	if err != nil {
		t.Fatalf("wait until %s: %v", what, err)
	}
}

func get(t *testing.T, client kubernetes.Interface, name string) *corev1.Namespace {
	t.Helper()
	ns, err := client.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

// ending says whether the namespace of this UID is gone or being deleted.
func ending(ctx context.Context, t *testing.T, client kubernetes.Interface, name string, uid types.UID) bool {
	t.Helper()
	ns, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err != nil || ns.UID != uid || ns.DeletionTimestamp != nil
}

// leave makes a namespace as a killed test leaves it, past its end but for what edit
// changes, and fills it before it says so.
func leave(t *testing.T, client kubernetes.Interface, edit func(*corev1.Namespace), holds ...*corev1.ConfigMap) *corev1.Namespace {
	t.Helper()
	namespaces := client.CoreV1().Namespaces()
	ns, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-left-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := namespaces.Delete(context.WithoutCancel(t.Context()), ns.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			t.Error(err)
		}
	})
	for _, m := range holds {
		if _, err := client.CoreV1().ConfigMaps(ns.Name).Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	maps.Copy(ns.Labels, map[string]string{keys.Intent: "transient", keys.Ephemeral: "true"})
	ns.Annotations = map[string]string{keys.ExpiresAt: "2026-01-01T00:00:00Z", keys.Owner: "TestLeft, process 1 of nowhere"}
	if edit != nil {
		edit(ns)
	}
	if ns, err = namespaces.Update(t.Context(), ns, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return ns
}

// log is a log that can be read.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *log) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// fake is a test whose end comes when it is told.
type fake struct {
	testing.TB
	cleanups []func()
	ending   bool
	failed   string
}

// Context fails in a cleanup, as GinkgoT's does.
func (f *fake) Context() context.Context {
	if f.ending {
		f.Fatalf("Context was called in a cleanup")
	}
	return f.TB.Context()
}

func (f *fake) Cleanup(c func()) { f.cleanups = append(f.cleanups, c) }
func (f *fake) Errorf(format string, args ...any) {
	f.failed += fmt.Sprintf(format, args...)
}

type stopped struct{}

func (f *fake) Fatalf(format string, args ...any) {
	f.failed += fmt.Sprintf(format, args...)
	panic(stopped{})
}

// run runs what may end at a Fatalf.
func (f *fake) run(do func()) {
	defer func() {
		if r := recover(); r != nil && r != (stopped{}) {
			panic(r)
		}
	}()
	do()
}

func (f *fake) end() {
	f.ending = true
	for len(f.cleanups) > 0 {
		last := len(f.cleanups) - 1
		c := f.cleanups[last]
		f.cleanups = f.cleanups[:last]
		c()
	}
}

var (
	_ ephemeral.TB = (*testing.T)(nil)
	_ ephemeral.TB = (*testing.B)(nil)
)

func cluster(t *testing.T) (*devenv.Cluster, kubernetes.Interface) {
	t.Helper()
	c := devtest.Cluster(t)
	return c, devtest.Client(t, c.Config())
}
