package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
)

// takeoverTest is a checkout of a service that a real node runs, or that no container runs.
type takeoverTest struct {
	t          *testing.T
	cluster    *devenv.Cluster
	node       *devenv.Node // nil where no container runs
	push, pull string       // the hosts of the registry
	dir, ns    string
	env        []string
	client     kubernetes.Interface
}

// TestTakeoverCommand takes a service over, edits it, and hands it back, by nothing but
// the plugin.
func TestTakeoverCommand(t *testing.T) {
	t.Parallel()
	s := newTakeoverTest(t)
	before := s.spec()

	if out, code := s.run("takeover", "--dry-run"); code != exitNotSo || !strings.Contains(out, "there is nothing to take over") {
		t.Errorf("without an edit: exit %d\n%s", code, out)
	}
	s.write("main.go", s.program("edited"))
	if out, code := s.run("takeover", "--dry-run"); code != 0 || !strings.Contains(out, "Deployment "+s.ns+"/api, container main") || !strings.Contains(out, "GREETING") {
		t.Errorf("dry run: exit %d\n%s", code, out)
	}
	if out, code := s.run("takeover", "--detach", "--timeout", "10m"); code != 0 {
		t.Fatalf("takeover: exit %d\n%s", code, out)
	}
	if got := s.get(); got != "edited hello" {
		t.Errorf("taken over it answers %q", got)
	}
	if out, code := s.run("reconcile"); code != exitBlocked {
		t.Errorf("a delivery meanwhile: exit %d\n%s", code, out)
	}

	s.write("main.go", s.program("edited again"))
	s.await("edited again hello")
	out, code := s.run("takeover", "status", "-o", "json")
	var status struct {
		Workloads []struct {
			Workload string
			Serving  bool
		}
	}
	if err := json.Unmarshal([]byte(out), &status); err != nil || code != 0 || len(status.Workloads) != 1 || !status.Workloads[0].Serving || status.Workloads[0].Workload != "Deployment "+s.ns+"/api" {
		t.Errorf("takeover status: exit %d, %v\n%s", code, err, out)
	}
	if out, code := s.run("takeover", "logs"); code != 0 || !strings.Contains(out, "api | edited again listens") {
		t.Errorf("takeover logs: exit %d\n%s", code, out)
	}

	s.killGuardian()
	if out, _ := s.run("status"); !strings.Contains(out, "was interrupted here") {
		t.Errorf("status does not say that a takeover was interrupted:\n%s", out)
	}
	if out, code := s.run("takeover", "status"); code != exitNotSo || !strings.Contains(out, "was interrupted here") {
		t.Errorf("takeover status of an interrupted one: exit %d\n%s", code, out)
	}
	again := start(t, s.dir, s.env, "takeover")
	again.await("going on with the takeover")
	again.await("serving. ")
	if got := s.get(); got != "edited again hello" {
		t.Errorf("gone on with it answers %q", got)
	}
	if text, code := again.end(os.Interrupt); code != 0 || !strings.Contains(text, "the takeover goes on") {
		t.Errorf("after Ctrl-C: exit %d\n%s", code, text)
	}

	s.events()

	last := start(t, s.dir, s.env, "takeover", "attach")
	last.await("serving. ")
	if err := last.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	last.await("Ctrl-C once more hands everything back")
	if text, code := last.end(os.Interrupt); code != 0 {
		t.Fatalf("after the second Ctrl-C: exit %d\n%s", code, text)
	}
	if got := s.get(); got != "first hello" {
		t.Errorf("handed back it answers %q", got)
	}
	if after := s.spec(); after != before {
		t.Errorf("the spec was\n%s\nand is\n%s", before, after)
	}
	if out, code := s.run("takeover", "status"); code != exitNotSo {
		t.Errorf("takeover status afterwards: exit %d\n%s", code, out)
	}
	if out, code := s.run("handback"); code != exitNotSo {
		t.Errorf("another handback: exit %d\n%s", code, out)
	}
	if out, code := s.run("status"); code != 0 {
		t.Errorf("status afterwards: exit %d\n%s", code, out)
	}
}

// newTakeoverTest delivers the service to a target whose controller runs.
func newTakeoverTest(t *testing.T) *takeoverTest {
	t.Helper()
	s := takeoverOf(t)
	s.deliver(map[string]string{
		"go.mod":          "module shop.example/api\n\ngo 1.26\n",
		"main.go":         s.program("first"),
		"pharos.yaml":     s.catalogue(fmt.Sprintf("{go: {}, env: [GREETING, PORT], ports: [{port: 8080, local: %d, env: PORT}]}", freePort(t))),
		"gitops/api.yaml": apiManifest,
	})
	return s
}

// apiManifest is the service's.
const apiManifest = `apiVersion: apps/v1
kind: Deployment
metadata: {name: api}
spec:
  replicas: 2
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec:
      containers:
      - name: main
        image: api
        env: [{name: GREETING, value: hello}, {name: PORT, value: "8080"}]
        ports: [{name: http, containerPort: 8080}]
        readinessProbe: {httpGet: {port: http, path: /}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: api}
spec:
  selector: {app: api}
  ports: [{port: 80, targetPort: http}]
`

// takeoverOf has a namespace of the real node, and nothing in it.
func takeoverOf(t *testing.T) *takeoverTest {
	t.Helper()
	n := devtest.Node(t)
	s := takeoverIn(t, n.Cluster)
	s.node, s.push, s.pull = n, n.PushRegistry(), n.PullRegistry()
	return s
}

// takeoverIn has a namespace of a cluster, and nothing in it.
func takeoverIn(t *testing.T, c *devenv.Cluster) *takeoverTest {
	t.Helper()
	return &takeoverTest{t: t, cluster: c, ns: devtest.Namespace(t, c), env: kubeconfigOf(t, c.Config()), client: devtest.Client(t, c.Config())}
}

// catalogue is a pharos.yaml: of the image api, that runs so on a workstation, and of
// the target.
func (s *takeoverTest) catalogue(run string) string {
	return fmt.Sprintf(`apiVersion: pharos.dev/v1alpha1
kind: Catalogue
images:
- name: api
  build: {go: {package: .}}
  inputs: [go.mod, main.go]
  run: %s
delivery: [gitops/**, pharos.yaml]
---
apiVersion: pharos.dev/v1alpha1
kind: Target
metadata: {name: %[2]s}
spec:
  namespace: %[2]s
  registry: {push: "%[3]s/%[2]s", pull: "%[4]s/%[2]s", insecure: true}
  overlay: gitops
`, run, s.ns, s.push, s.pull)
}

// deliver delivers a repository of these files, and runs the target's controller.
func (s *takeoverTest) deliver(files map[string]string) {
	s.t.Helper()
	files["gitops/kustomization.yaml"] = "namespace: " + s.ns + "\nresources: [api.yaml]\n"
	s.dir = repository(s.t, files)
	if out, code := s.run("deploy", "--timeout", "10m"); code != 0 {
		s.t.Fatalf("deploy: exit %d\n%s", code, out)
	}
	controller := start(s.t, s.dir, s.env, "controller", "--health-address", "127.0.0.1:0", "--leader-lease", s.ns+"/pharos-"+s.ns+".controller", "--watch-target", s.ns+"/"+s.ns, "--put-back", s.ns)
	s.t.Cleanup(func() {
		_ = controller.Process.Kill()
		_ = controller.Wait()
	})
	controller.await("serving health on")
	s.leads()
	s.t.Cleanup(func() {
		cmd := exec.Command(program, "handback")
		cmd.Dir, cmd.Env = s.dir, append(os.Environ(), s.env...)
		_ = cmd.Run() // of a test that failed
	})
}

// program is a service that answers with its version and the greeting.
func (s *takeoverTest) program(version string) string {
	return fmt.Sprintf(`package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server := &http.Server{Addr: ":" + os.Getenv("PORT"), Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "%%s %%s", %[1]q, os.Getenv("GREETING"))
	})}
	go func() {
		<-ctx.Done()
		server.Shutdown(context.Background())
	}()
	fmt.Println(%[1]q, "listens")
	server.ListenAndServe()
}
`, version)
}

// events asks for the status as an editor does, and reads up to the answer.
func (s *takeoverTest) events() {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), program, "takeover", "--events")
	cmd.Dir, cmd.Env, cmd.Stdin = s.dir, append(os.Environ(), s.env...), strings.NewReader(`{"version":1,"op":"status","id":"mine"}`+"\n")
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	answered, told := false, false
	for lines := bufio.NewScanner(out); !answered || !told; {
		if !lines.Scan() {
			s.t.Fatalf("--events ended; answered: %t, told of events: %t", answered, told)
		}
		var l guardian.Line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			s.t.Fatalf("%v: %s", err, lines.Bytes())
		}
		told = told || l.Event != nil
		answered = answered || l.ID == "mine" && l.Status != nil && len(l.Status.Workloads) == 1
	}
}

// killGuardian kills the process of the takeover.
func (s *takeoverTest) killGuardian() {
	s.t.Helper()
	out, code := s.run("takeover", "status", "-o", "jsonpath={.pid}")
	pid, err := strconv.Atoi(out)
	if err != nil || code != 0 {
		s.t.Fatalf("takeover status: exit %d\n%s", code, out)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		s.t.Fatal(err)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// leads waits until the controller leads.
func (s *takeoverTest) leads() {
	s.t.Helper()
	for {
		l, err := s.client.CoordinationV1().Leases(s.ns).Get(s.t.Context(), "pharos-"+s.ns+".controller", metav1.GetOptions{})
		if err == nil && l.Spec.HolderIdentity != nil && *l.Spec.HolderIdentity != "" {
			return
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-s.t.Context().Done():
			s.t.Fatalf("no controller leads: %v", err)
		}
	}
}

func (s *takeoverTest) write(name, content string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *takeoverTest) run(args ...string) (string, int) {
	s.t.Helper()
	return runs(s.t, s.dir, s.env, args...)
}

// spec is the Deployment's, as the API server has it.
func (s *takeoverTest) spec() string {
	s.t.Helper()
	d, err := s.client.AppsV1().Deployments(s.ns).Get(s.t.Context(), "api", metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	doc, err := json.Marshal(d.Spec)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(doc)
}

// get is what the Service answers to the API server.
func (s *takeoverTest) get() string { return s.ask("/") }

func (s *takeoverTest) ask(path string) string {
	s.t.Helper()
	answer, err := s.client.CoreV1().Services(s.ns).ProxyGet("http", "api", "80", path, nil).DoRaw(s.t.Context())
	if err != nil {
		s.t.Fatalf("a request for %s failed: %v\n%s", path, err, answer)
	}
	return string(answer)
}

// status is that of the takeover.
func (s *takeoverTest) status() (st guardian.Status) {
	s.t.Helper()
	out, code := s.run("takeover", "status", "-o", "json")
	if err := json.Unmarshal([]byte(out), &st); err != nil || code != 0 || len(st.Workloads) != 1 {
		s.t.Fatalf("takeover status: exit %d, %v\n%s", code, err, out)
	}
	return st
}

// await asks again and again, and no request fails.
func (s *takeoverTest) await(want string) {
	s.t.Helper()
	for got := ""; got != want; got = s.get() {
		if s.t.Context().Err() != nil {
			s.t.Fatalf("it never answered %q", want)
		}
	}
}
