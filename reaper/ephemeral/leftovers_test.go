package ephemeral_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/ephemeral"
)

// childKubeconfig has this test binary be a test that is to be killed.
const childKubeconfig = "PHAROS_EPHEMERAL_KUBECONFIG"

// childTTL leaves room for heartbeats that are late on a busy machine.
const childTTL = 12 * time.Second

func TestMain(m *testing.M) {
	if file := os.Getenv(childKubeconfig); file != "" {
		if err := child(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// child makes namespaces with something in them, says so, and goes on until it is killed.
func child(kubeconfig string) error {
	ctx := context.Background()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	for range 3 {
		s, err := ephemeral.Open(ctx, config, ephemeral.Options{For: "TestThatIsKilled", TTL: childTTL})
		if err != nil {
			return err
		}
		if _, err := client.CoreV1().ConfigMaps(s.Name).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "of-the-test"}}, metav1.CreateOptions{}); err != nil {
			return err
		}
		fmt.Println(s.Name)
	}
	fmt.Println()
	select {}
}

// A process that is killed leaves nothing when its TTL has passed and another test has
// run; and nothing is taken from it before.
func TestKilledProcess(t *testing.T) {
	t.Parallel()
	c, client := cluster(t)
	audit := devtest.RecordAudit(t, c)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childKubeconfig+"="+devtest.Kubeconfig(t, c.Config()))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	left := map[string]*corev1.Namespace{}
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != ""; {
		left[lines.Text()] = get(t, client, lines.Text())
	}
	if len(left) != 3 {
		t.Errorf("the process made %d namespaces", len(left))
	}
	// It lives for longer than its TTL, on its heartbeats.
	await(t, "the process has outlived its TTL", func(context.Context) bool {
		for name, made := range left {
			ns := get(t, client, name)
			if ns.DeletionTimestamp != nil {
				t.Fatalf("%s is being deleted while its process lives", name)
			}
			at, err := reaper.ParseTime(ns.Annotations[keys.LastActive])
			if err != nil || !at.After(made.CreationTimestamp.Add(childTTL)) {
				return false
			}
		}
		return true
	})
	// Whoever asks meanwhile leaves it alone.
	later(t, c.Config())
	for name, made := range left {
		if ending(t.Context(), t, client, name, made.UID) {
			t.Errorf("%s was ended while its process lives", name)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
		t.Errorf("the process ended by itself: %v", err)
	}
	ends := map[string]time.Time{}
	for name := range left {
		ns := get(t, client, name)
		intent, err := reaper.ReadIntent(ns.Labels, ns.Annotations)
		if err != nil {
			t.Fatal(err)
		}
		ends[name], _ = intent.Deadline(ns.CreationTimestamp.Time)
	}
	await(t, "later runs have ended what it left", func(ctx context.Context) bool {
		later(t, c.Config())
		for name, made := range left {
			if !ending(ctx, t, client, name, made.UID) {
				return false
			}
		}
		return true
	})
	for _, e := range audit.Events(t, nil) {
		made := left[e.Name]
		if made == nil || e.Verb != "delete" || e.Resource != "namespaces" {
			continue
		}
		if e.Received.Before(ends[e.Name]) {
			t.Errorf("%s was deleted at %s, and ends at %s", e.Name, e.Received, ends[e.Name])
		}
		if uid, version := e.Preconditions(); uid != string(made.UID) || version == "" {
			t.Errorf("%s was deleted with the UID %q and the version %q", e.Name, uid, version)
		}
	}
	await(t, "all of it is gone", func(ctx context.Context) bool {
		for name := range left {
			if _, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{}); err == nil {
				return false
			}
		}
		return true
	})
}

// Of what is left, only what this package made and what nothing speaks against is ended.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	c, client := cluster(t)
	retained := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept", Labels: map[string]string{keys.Intent: "retained"}}}
	data := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
	for name, tc := range map[string]struct {
		edit  func(*corev1.Namespace)
		holds []*corev1.ConfigMap
		ends  bool
		says  string
	}{
		"past its end":     {ends: true},
		"with what is not": {holds: []*corev1.ConfigMap{data}, ends: true},
		"not past it":      {edit: func(ns *corev1.Namespace) { ns.Annotations[keys.ExpiresAt] = "2126-01-01T00:00:00Z" }},
		"retained":         {edit: func(ns *corev1.Namespace) { ns.Labels[keys.Intent] = "retained" }},
		"another's":        {edit: func(ns *corev1.Namespace) { delete(ns.Labels, keys.Ephemeral) }},
		"malformed":        {edit: func(ns *corev1.Namespace) { ns.Annotations[keys.TTL] = "1d500ms" }},
		"declared":         {edit: func(ns *corev1.Namespace) { ns.Annotations["meta.helm.sh/release-name"] = "shop" }},
		"holds something":  {holds: []*corev1.ConfigMap{data, retained}, says: "kept"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := leave(t, client, tc.edit, tc.holds...)
			said := later(t, c.Config())
			if got := ending(t.Context(), t, client, ns.Name, ns.UID); got != tc.ends {
				t.Errorf("ended: %v, want %v\n%s", got, tc.ends, said)
			}
			if !strings.Contains(said, tc.says) {
				t.Errorf("%s\ndoes not say %q", said, tc.says)
			}
		})
	}
}

// later is a test that runs later. It returns its log.
func later(t *testing.T, config *rest.Config) string {
	t.Helper()
	var l log
	test := &fake{TB: t}
	ephemeral.Namespace(test, config, ephemeral.Options{Log: l.logger()})
	test.end()
	if test.failed != "" {
		t.Errorf("the later test failed: %s", test.failed)
	}
	return l.String()
}
