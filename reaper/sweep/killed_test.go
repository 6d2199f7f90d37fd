package sweep_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper/sweep"
)

// The environment of a process that makes one pass, to be killed or measured.
const childConfig, childNamespace = "SWEEP_TEST_KUBECONFIG", "SWEEP_TEST_NAMESPACE"

func TestMain(m *testing.M) {
	if file := os.Getenv(childConfig); file != "" {
		if err := onePass(file, os.Getenv(childNamespace)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func killable(c *sweep.Config) {
	c.DeletesPerSecond, c.ConcurrentDeletes, c.Events, c.NotifyBefore = -1, 4, true, time.Hour
}

func onePass(kubeconfig, namespace string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	c := sweep.Config{REST: config}
	killable(&c)
	e, err := sweep.New(c)
	if err != nil {
		return err
	}
	_, err = e.Pass(context.Background(), sweep.PassOptions{Namespace: namespace, Resources: []string{"configmaps", "namespaces"}})
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	fmt.Print(memory.Sys) // what it took of the system, at its largest
	return err
}

// A process that is killed at any request, before the server did what was asked or
// after it, leaves what the next one ends, and nothing else.
func TestKilledAtAnyRequest(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]faultproxy.Rule{
		"discovery":          {Method: http.MethodGet, Path: regexp.MustCompile("^/apis$")},
		"list":               {Method: http.MethodGet, Path: regexp.MustCompile("/configmaps$")},
		"get":                {Method: http.MethodGet, Path: regexp.MustCompile("/configmaps/over-1$")},
		"delete":             {Method: http.MethodDelete, Path: regexp.MustCompile("/configmaps/over-1$")},
		"Event":              {Method: http.MethodPost, Path: regexp.MustCompile("/events$")},
		"note":               {Method: http.MethodPatch, Path: regexp.MustCompile("/configmaps/soon$")},
		"look":               {Method: http.MethodGet, Path: regexp.MustCompile("/pods$")},
		"second look":        {Method: http.MethodGet, Path: regexp.MustCompile("/pods$"), Skip: 1},
		"mark":               {Method: http.MethodPatch, Path: regexp.MustCompile("/namespaces/[^/]*$")},
		"deleted namespace":  {Method: http.MethodDelete, Path: regexp.MustCompile("/namespaces/[^/]*$")},
		"Event of namespace": {Method: http.MethodPost, Path: regexp.MustCompile("/namespaces/default/events$")},
	} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, done %t", name, after), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				ofNamespace := name == "look" || name == "second look" || name == "mark" || name == "deleted namespace" || name == "Event of namespace"
				var over []*corev1.ConfigMap
				for i := range 3 {
					over = append(over, w.configMap(transient(fmt.Sprintf("over-%d", i), past)))
				}
				soon := w.configMap(transient("soon", soon(30*time.Minute)))
				if ofNamespace {
					w.over()
				}
				p, config := w.behind()
				stall := rule
				stall.AfterUpstream, stall.Times, stall.Do = after, 1, faultproxy.Stall()
				fault := p.Add(stall)
				cmd := exec.Command(os.Args[0])
				// The certificate is the proxy's: the file has the way to it.
				cmd.Env = append(os.Environ(), childConfig+"="+devtest.Kubeconfig(t, config), childNamespace+"="+w.ns)
				cmd.Stderr = os.Stderr
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				exited := make(chan error, 1)
				go func() { exited <- cmd.Wait() }()
				select {
				case <-fault.Reached():
				case err := <-exited:
					t.Fatalf("it came to its end: %v", err)
				}
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				<-exited
				p.Close()

				report := w.pass(w.ender(killable), sweep.PassOptions{}, "configmaps", "namespaces")
				if !report.Clean() {
					t.Errorf("the next pass: %+v", report)
				}
				if ofNamespace {
					w.wantEnding()
					return
				}
				for _, m := range over {
					if w.exists(m) {
						t.Errorf("%s is still there", m.Name)
					}
				}
				if !w.exists(soon) || w.change(soon, nothing).Annotations[keys.Notified] == "" || len(w.events(w.ns, string(soon.UID))) != 1 {
					t.Errorf("it was not warned once of %s, or that is gone", soon.Name)
				}
				w.wantAlive()
			})
		}
	}
}

// A mark that a killed process left on a namespace that is not to end any more goes.
func TestMarkThatWasLeftGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.over()
	w.relabel(func(ns *corev1.Namespace) {
		ns.Annotations[keys.Ending] = "2026-01-02T03:04:05Z"
		ns.Annotations[keys.ExpiresAt] = later()[keys.ExpiresAt]
	})
	ns, err := w.admin.CoreV1().Namespaces().Get(t.Context(), w.ns, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.endNamespace(w.ender(), ns, sweep.Waiting)
	w.wantAlive()
}
