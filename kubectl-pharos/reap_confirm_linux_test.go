package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
)

// typed is a terminal on which somebody has typed a line.
func typed(t *testing.T, line string) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := master.WriteString(line); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestReapAsksOnATerminal(t *testing.T) {
	t.Parallel()
	cluster := devtest.Cluster(t)
	ns := devtest.Namespace(t, cluster)
	maps := devtest.Client(t, cluster.Config()).CoreV1().ConfigMaps(ns)
	for i := range 3 {
		m := metav1.ObjectMeta{Name: fmt.Sprintf("over-%d", i), Labels: map[string]string{keys.Intent: "transient"}, Annotations: map[string]string{keys.ExpiresAt: "2020-01-02T03:04:05Z"}}
		if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: m}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	kubeconfig := devtest.Kubeconfig(t, cluster.Config())
	left := func() int {
		t.Helper()
		list, err := maps.List(t.Context(), metav1.ListOptions{LabelSelector: keys.Intent})
		if err != nil {
			t.Fatal(err)
		}
		return len(list.Items)
	}
	for _, tt := range []struct {
		line  string
		args  []string
		code  int
		asks  bool
		after int
	}{
		{"n\n", []string{"--ask-above", "2"}, exitNotSo, true, 3},
		{"\n", []string{"--ask-above", "2"}, exitNotSo, true, 3},
		{"no\n", []string{"--ask-above", "2", "--dry-run"}, exitDone, false, 3},
		{"yes\n", []string{"--ask-above", "2"}, exitDone, true, 0},
		{"n\n", []string{"--ask-above", "2"}, exitDone, false, 0}, // there is nothing to ask about
	} {
		var out, errOut bytes.Buffer
		args := append([]string{"reap", "-n", ns, "--kubeconfig", kubeconfig, "--context", "test"}, tt.args...)
		code := run(t.Context(), genericiooptions.IOStreams{In: typed(t, tt.line), Out: &out, ErrOut: &errOut}, args)
		asked := strings.Contains(errOut.String(), "configmaps: 3\nDelete these 3 objects? [y/N] ")
		if code != tt.code || asked != tt.asks || left() != tt.after {
			t.Errorf("%q %q: exit code %d, asked: %t, %d are left\n%s%s", tt.line, tt.args, code, asked, left(), &out, &errOut)
		}
		if code == exitNotSo && !strings.Contains(errOut.String(), "nothing was deleted") {
			t.Errorf("it says %q", &errOut)
		}
	}
}
