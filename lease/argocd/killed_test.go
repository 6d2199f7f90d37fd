package argocd_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lease/argocd"
	"github.com/pharos-dev/pharos/lease/internal/racetest"
)

// The test program is its own holder: a process that can be killed. The variable
// holds its orders.
const ordersVariable = "PHAROS_TEST_HOLDER_ORDERS"

// orders are those of a holder: to close the gate, edit what is live in Folder,
// and open the gate.
type orders struct {
	Kubeconfig, ArgoNamespace, Namespace, Application, Folder string
	Now, Until                                                time.Time
	// KillAfter is how many writes it survives; 0 has it say that it has closed, and
	// wait for its death.
	KillAfter int64
}

func TestMain(m *testing.M) {
	racetest.Main(racer)
	if text := os.Getenv(editorVariable); text != "" {
		if err := runEditor(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if order := os.Getenv(ordersVariable); order != "" {
		if err := hold(order); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func hold(order string) error {
	ctx := context.Background()
	var o orders
	if err := json.Unmarshal([]byte(order), &o); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		return err
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &mortal{next: next, after: o.KillAfter} })
	claim := claimOf(o.Namespace, o.Now, o.Until, o.Application)
	gate, err := argocd.New(argocd.Config{REST: config, Namespace: o.ArgoNamespace, Settle: patience,
		Applications: func(context.Context) ([]string, error) { return claim.Covers, nil }})
	if err != nil {
		return err
	}
	if err := gate.Close(ctx, claim); err != nil {
		return err
	}
	if o.KillAfter == 0 {
		fmt.Println("closed")
		select {}
	}
	edit := []byte(`{"data":{"value":"edited"}}`)
	if _, err := kube.CoreV1().ConfigMaps(o.Namespace).Patch(ctx, o.Folder, types.MergePatchType, edit, metav1.PatchOptions{}); err != nil {
		return err
	}
	known := func() error {
		a, err := kube.CoreV1().RESTClient().Get().AbsPath("/apis/argoproj.io/v1alpha1/namespaces", o.ArgoNamespace, "applications", o.Application).DoRaw(ctx)
		if err != nil {
			return err
		}
		u := &unstructured.Unstructured{}
		if err := json.Unmarshal(a, &u.Object); err != nil {
			return err
		}
		if text(u, "status.sync.status") != "OutOfSync" {
			return errors.New("Argo CD does not know of the edit")
		}
		return nil
	}
	for end := time.Now().Add(patience); ; {
		if err := known(); err == nil {
			break
		} else if time.Now().After(end) {
			return err
		}
	}
	_, err = gate.Open(ctx, claim)
	return err
}

// mortal is a connection whose process is killed when as many writes as it
// survives were answered.
type mortal struct {
	next   http.RoundTripper
	after  int64
	writes atomic.Int64
}

func (m *mortal) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := m.next.RoundTrip(r)
	if r.Method == http.MethodPatch && m.writes.Add(1) == m.after {
		if self, err := os.FindProcess(os.Getpid()); err == nil && self.Kill() == nil {
			select {}
		}
	}
	return response, err
}

// holder starts one.
func (w *world) holder(c lease.Claim, folder string, killAfter int64) *exec.Cmd {
	w.t.Helper()
	o := orders{Kubeconfig: w.argo.Cluster().Kubeconfig(), ArgoNamespace: w.argo.Namespace(), Namespace: c.Namespace, Application: c.Covers[0], Folder: folder,
		Now: c.Now, Until: c.Until, KillAfter: killAfter}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), ordersVariable+"="+string(jsonOf(w.t, o)))
	cmd.Stderr = os.Stderr
	return cmd
}

// When the holder was killed, the window ends by itself, and what it kept from
// being healed is healed by Argo CD alone.
func TestHolderIsKilled(t *testing.T) {
	t.Parallel()
	w := healed(t, healing, "api")
	c := w.claim(40*time.Second, "api")
	holder := w.holder(c, "api", 0)
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	w.edit("api", "edited")
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait() // it was killed
	if line != "closed\n" {
		t.Fatalf("it said %q", line)
	}
	restored := w.becomes("api", "declared")
	for _, m := range restored.ManagedFields {
		if m.Manager == "argocd-controller" && m.Time.Time.Before(c.Until) {
			t.Errorf("it was healed at %s, and the window lasts until %s", m.Time, c.Until)
		}
	}
	if r, err := w.gate().Sweep(t.Context(), w.sweep(c.Until)); err != nil || len(r.Pending) != 0 || len(r.Opened) != 1 {
		t.Errorf("swept %+v, %v", r, err)
	}
	if left := w.windows(w.name); len(left) != 0 {
		t.Errorf("left over is %s", left)
	}
}

// After whichever write the holder is killed, the next one finds by the window what
// there is to do, and does it: also what Argo CD would not do by itself.
func TestKilledAfterEveryWrite(t *testing.T) {
	t.Parallel()
	// The window, a request to look; the window's end, a request to look, a sync, and
	// no window.
	for n := range int64(6) {
		t.Run(fmt.Sprint(n+1), func(t *testing.T) {
			t.Parallel()
			w := healed(t, stale, "api")
			before := w.spec(w.name)
			holder := w.holder(w.claim(time.Hour, "api"), "api", n+1)
			if err := holder.Run(); err == nil || holder.ProcessState.Exited() {
				t.Fatalf("it was not killed: %v", err)
			}
			next := w.claim(time.Hour)
			next.Token, next.Holder = 2, "NEXT"
			r, err := w.gate().Sweep(t.Context(), next)
			if err != nil || len(r.Pending) != 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			if got := w.value("api"); got != "declared" {
				t.Errorf("it is %q", got)
			}
			if after := w.spec(w.name); after != before {
				t.Errorf("the project is %s, was %s", after, before)
			}
			if a := w.get("api"); a.Object["operation"] != nil || a.GetAnnotations()["argocd.argoproj.io/refresh"] != "" {
				t.Errorf("left over is %s", w.dump(a))
			}
		})
	}
}
