package ephemeral_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/ephemeral"
)

func TestNamespace(t *testing.T) {
	t.Parallel()
	c, client := cluster(t)
	config, mine := agent(t, c)
	audit := devtest.RecordAudit(t, c)
	test := &fake{TB: t}
	name := ephemeral.Namespace(test, config, ephemeral.Options{
		Owner: "ann@example.org", TTL: time.Hour,
		Labels:      map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
		Annotations: map[string]string{"example.org/why": "this"},
	})
	ns := get(t, client, name)
	if !strings.HasPrefix(name, "test-namespace-") {
		t.Errorf("it is named %s", name)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := ns.Annotations[keys.Owner], fmt.Sprintf("ann@example.org: TestNamespace, process %d of %s", os.Getpid(), host); got != want {
		t.Errorf("its owner is %q, want %q", got, want)
	}
	if ns.Labels["pod-security.kubernetes.io/enforce"] != "restricted" || ns.Annotations["example.org/why"] != "this" || ns.Labels[keys.Ephemeral] != "true" {
		t.Errorf("labels %v, annotations %v", ns.Labels, ns.Annotations)
	}
	d := (reaper.Rules{}).Decide(reaper.ObjectOf("", "Namespace", ns), ns.CreationTimestamp.Time)
	if d.Verdict != reaper.Wait || !d.Deadline.Equal(ns.CreationTimestamp.Add(time.Hour)) {
		t.Errorf("%+v, want it to end an hour after %s", d, ns.CreationTimestamp)
	}

	test.end()
	if test.failed != "" {
		t.Errorf("the test failed: %s", test.failed)
	}
	if !ending(t.Context(), t, client, name, ns.UID) {
		t.Error("it is still there")
	}
	// What the package says that it costs.
	var calls []string
	for _, e := range audit.Events(t, mine) {
		calls = append(calls, e.Verb+" "+e.Resource)
		if uid, _ := e.Preconditions(); e.Verb == "delete" && uid != string(ns.UID) {
			t.Errorf("it was deleted with the UID %q, want %q", uid, ns.UID)
		}
	}
	if got, want := strings.Join(calls, ", "), "list namespaces, create namespaces, delete namespaces"; got != want {
		t.Errorf("calls: %s\nwant:  %s", got, want)
	}
}

// A cleanup that was registered later comes before the end of the namespace.
func TestCleanupsOfTheTestHaveTheNamespace(t *testing.T) {
	t.Parallel()
	c, client := cluster(t)
	t.Run("inner", func(t *testing.T) {
		name := ephemeral.Namespace(t, c.Config(), ephemeral.Options{})
		t.Cleanup(func() {
			ns, err := client.CoreV1().Namespaces().Get(context.WithoutCancel(t.Context()), name, metav1.GetOptions{})
			if err != nil || ns.DeletionTimestamp != nil {
				t.Errorf("in a cleanup of the test: %v, %v", ns.DeletionTimestamp, err)
			}
		})
	})
}

// Heartbeats move the end, also while the test's cleanups run.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	c, client := cluster(t)
	config, mine := agent(t, c)
	audit := devtest.RecordAudit(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	s, err := ephemeral.Open(ctx, config, ephemeral.Options{For: t.Name(), TTL: 12 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	cancel() // as a test's context is before its cleanups
	seen := map[string]bool{}
	var ns *corev1.Namespace
	await(t, "two heartbeats are written down", func(context.Context) bool {
		ns = get(t, client, s.Name)
		if at, ok := ns.Annotations[keys.LastActive]; ok {
			seen[at] = true
		}
		return len(seen) > 2
	})
	intent, err := reaper.ReadIntent(ns.Labels, ns.Annotations)
	if err != nil {
		t.Fatal(err)
	}
	if end, ok := intent.Deadline(ns.CreationTimestamp.Time); !ok || !end.After(ns.CreationTimestamp.Add(12*time.Second)) {
		t.Errorf("it ends at %s, created at %s", end, ns.CreationTimestamp)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	beats := 0
	for _, e := range audit.Events(t, mine) {
		if e.Verb != "patch" {
			continue
		}
		if beats++; e.Name != s.Name || e.Code != 200 {
			t.Errorf("%s %s: %d", e.Verb, e.RequestURI, e.Code)
		}
		// The server's own time, which is told to the second.
		var at time.Time
		for _, word := range strings.Split(string(e.Request), `"`) {
			if parsed, err := reaper.ParseTime(word); err == nil {
				at = parsed
			}
		}
		if at.After(e.Received.Add(time.Second)) {
			t.Errorf("a heartbeat that came at %s says %s", e.Received, at)
		}
	}
	if beats < 3 {
		t.Errorf("%d heartbeats", beats)
	}
}

// What replaced the namespace is not touched.
func TestNamespaceThatIsAnother(t *testing.T) {
	t.Parallel()
	c, client := cluster(t)
	var l log
	s, err := ephemeral.Open(t.Context(), c.Config(), ephemeral.Options{For: t.Name(), TTL: 5 * time.Second, Log: l.logger()})
	if err != nil {
		t.Fatal(err)
	}
	namespaces := client.CoreV1().Namespaces()
	if err := namespaces.Delete(t.Context(), s.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the heartbeat notices", func(context.Context) bool { return strings.Contains(l.String(), "while it was in use") })
	var other *corev1.Namespace
	await(t, "another one can be made", func(ctx context.Context) bool {
		other, err = namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Name}}, metav1.CreateOptions{})
		return err == nil
	})
	defer func() {
		if err := namespaces.Delete(context.WithoutCancel(t.Context()), other.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}()
	for range 2 {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	now := get(t, client, s.Name)
	if now.UID != other.UID || now.DeletionTimestamp != nil || len(now.Annotations) > 0 {
		t.Errorf("the other namespace is %v now", now.ObjectMeta)
	}
}

// Whoever asks is told when the namespace has gone, and if not why.
func TestWait(t *testing.T) {
	t.Parallel()
	c, client := cluster(t)
	t.Run("gone", func(t *testing.T) {
		t.Parallel()
		test := &fake{TB: t}
		name := ephemeral.Namespace(test, c.Config(), ephemeral.Options{Wait: patience})
		test.end()
		if test.failed != "" {
			t.Error(test.failed)
		}
		if _, err := client.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{}); err == nil {
			t.Error("it is still there")
		}
	})
	t.Run("held", func(t *testing.T) {
		t.Parallel()
		test := &fake{TB: t}
		name := ephemeral.Namespace(test, c.Config(), ephemeral.Options{Wait: 10 * time.Second})
		maps := client.CoreV1().ConfigMaps(name)
		held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{"example.org/hold"}}}
		if _, err := maps.Create(t.Context(), held, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := maps.Patch(context.WithoutCancel(t.Context()), "held", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
				t.Error(err)
			}
		}()
		test.end()
		if !strings.Contains(test.failed, name+" is not gone after 10s") {
			t.Errorf("the test says %q", test.failed)
		}
	})
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	test := &fake{TB: t}
	test.run(func() {
		ephemeral.Namespace(test, &rest.Config{Host: "http://127.0.0.1:1"}, ephemeral.Options{})
	})
	if !strings.Contains(test.failed, "create a namespace for TestNoServer") || len(test.cleanups) > 0 {
		t.Errorf("the test says %q, and has %d cleanups", test.failed, len(test.cleanups))
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	_, err := ephemeral.Open(t.Context(), nil, ephemeral.Options{
		TTL: 1500 * time.Millisecond, Wait: -time.Second,
		Labels:      map[string]string{keys.Intent: "retained"},
		Annotations: map[string]string{keys.LastActive: "now", keys.TTL: "1h"},
	})
	if !errors.Is(err, ephemeral.ErrInvalid) {
		t.Fatalf("%v, want ErrInvalid", err)
	}
	for _, want := range []string{"the configuration of the cluster is missing", "TTL is 1.5s", "Wait is -1s", "Labels: " + keys.Intent, "Annotations: " + keys.LastActive, "Annotations: " + keys.TTL} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %s", err, want)
		}
	}
}
