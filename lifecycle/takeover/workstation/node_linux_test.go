package workstation_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/takeovertest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/workstation"
)

// patience bounds a wait for pods; a run that works never comes near it.
const patience = 5 * time.Minute

func text(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// freePort is one that nobody listens on now.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// canary is a secret that must be in no file and no event.
const canary = "canary-4f1c9b7e2a"

// goShop is a Go service with three replicas behind a Service, under load from another
// pod.
func goShop(t *testing.T) *takeovertest.Shop {
	t.Helper()
	n := devtest.Node(t)
	s := takeovertest.Deliver(t, n.Cluster, n.PushRegistry(), n.PullRegistry(), map[string]string{
		"go.mod":       "module shop.example\n\ngo 1.26.0\n",
		"api/main.go":  text(t, "api.go.txt"),
		"load/main.go": text(t, "load.go.txt"),
		"pharos.yaml": fmt.Sprintf(`apiVersion: pharos.dev/v1alpha1
kind: Catalogue
images:
- name: api
  platforms: [linux/%[1]s]
  build: {go: {package: ./api}}
  inputs: [api, go.mod]
  run: {go: {}, env: [CANARY, PORT], set: {PLACE: workstation}, ports: [{port: 8080, local: %[2]d, env: [PORT]}]}
- name: load
  platforms: [linux/%[1]s]
  build: {go: {package: ./load}}
  inputs: [load, go.mod]
delivery: [gitops/**, pharos.yaml]
`, runtime.GOARCH, freePort(t)),
		"gitops/api.yaml": `apiVersion: v1
kind: Secret
metadata: {name: canary, annotations: {pharos.dev/secret-values: harmless}}
stringData: {value: ` + canary + `}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: api}
spec:
  replicas: 3
  strategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec:
      containers:
      - name: main
        image: api
        env:
        - {name: PORT, value: "8080"}
        - {name: PLACE, value: cluster}
        - {name: CANARY, valueFrom: {secretKeyRef: {name: canary, key: value}}}
        ports: [{name: http, containerPort: 8080}]
        readinessProbe: {httpGet: {port: http, path: /}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: api}
spec:
  selector: {app: api}
  ports: [{port: 80, targetPort: http}]
`,
		"gitops/load.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: load}
spec:
  selector: {matchLabels: {app: load}}
  template:
    metadata: {labels: {app: load}}
    spec: {terminationGracePeriodSeconds: 0, containers: [{name: main, image: load, args: [api]}]}
`,
	})
	controlled(t, s)
	return s
}

// controlled has a controller live, by its lease.
func controlled(t *testing.T, s *takeovertest.Shop) {
	t.Helper()
	leader, err := lease.New(lease.Config{REST: s.REST, Namespace: s.Namespace, Target: s.Namespace, Name: standard.LeaderLease(s.Namespace)})
	if err != nil {
		t.Fatal(err)
	}
	held, err := leader.Acquire(t.Context(), lease.Request{Mode: lease.ModeDeliver, User: "controller", Covers: []string{s.Namespace}})
	if err != nil {
		t.Fatal(err)
	}
	_, stop := held.Keep(context.Background())
	t.Cleanup(stop)
}

// follower reads what the load says.
type follower struct {
	t     *testing.T
	lines chan string
}

func follow(t *testing.T, s *takeovertest.Shop) *follower {
	t.Helper()
	pods, err := s.Client().CoreV1().Pods(s.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=load"})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("the load is %v, %v", pods.Items, err)
	}
	log, err := s.Client().CoreV1().Pods(s.Namespace).GetLogs(pods.Items[0].Name, &corev1.PodLogOptions{Follow: true}).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	f := &follower{t: t, lines: make(chan string, 1000)}
	go func() {
		defer close(f.lines)
		for scan := bufio.NewScanner(log); scan.Scan(); {
			f.lines <- scan.Text()
		}
	}()
	return f
}

// until reads on until there was a line of each form.
func (f *follower) until(forms ...string) {
	f.t.Helper()
	late, missing := time.After(patience), map[string]*regexp.Regexp{}
	for _, form := range forms {
		missing[form] = regexp.MustCompile(form)
	}
	for len(missing) > 0 {
		select {
		case line, ok := <-f.lines:
			if !ok {
				f.t.Fatalf("the load ended before %q", slices.Collect(maps.Keys(missing)))
			}
			if strings.HasPrefix(line, "failed") {
				f.t.Error(line)
			}
			maps.DeleteFunc(missing, func(_ string, is *regexp.Regexp) bool { return is.MatchString(line) })
		case <-late:
			f.t.Fatalf("the load never said %q", slices.Collect(maps.Keys(missing)))
		}
	}
}

// A Go service is taken over under load from another pod, edited, and handed back: no
// request fails, and its secret is in no file and no event.
func TestNodeGo(t *testing.T) {
	t.Parallel()
	s := goShop(t)
	before := s.Spec("api")
	load := follow(t, s)
	load.until(`^answer api v1 cluster true api-`)

	edit := func(from, to string) {
		t.Helper()
		program := strings.Replace(text(t, "api.go.txt"), `answer = "v1"`, `answer = "`+to+`"`, 1)
		if strings.Contains(program, `answer = "v1"`) {
			t.Fatalf("there is no %s to edit", from)
		}
		s.Write(map[string]string{"api/main.go": program})
	}
	edit("v1", "v2")
	r := newRun(t, s)
	r.begin("api")
	load.until(`^answer api v2 workstation true `)
	edit("v2", "v3")
	load.until(`^answer api v3 workstation true `)
	leaks(t, r.folder)
	r.handBack()
	load.until(`^answer api v1 cluster true api-`)
	load.until(`^asked [0-9]+, 0 failed`)
	if got := s.Spec("api"); got != before {
		t.Errorf("api is\n%s\nwant\n%s", got, before)
	}
	st, err := s.Lifecycle().Status(t.Context())
	if err != nil || !st.IsLive() || st.Lease.Held {
		t.Errorf("afterwards: %+v, %v", st.Observation, err)
	}
	leaks(t, r.folder)
	r.mu.Lock()
	defer r.mu.Unlock()
	if out := r.printed.String(); !strings.Contains(out, "the secret is ***") || strings.Contains(out, canary) {
		t.Errorf("it printed %s", out)
	}
	if strings.Contains(r.events.String(), canary) {
		t.Error("the secret is among the events")
	}
}

// run is a takeover of what the checkout changes, in this process.
type run struct {
	*takeover.Session
	t      *testing.T
	folder string // of all that Pharos keeps in the checkout
	served chan string
	ended  chan error

	mu              sync.Mutex
	printed, events strings.Builder
}

func newRun(t *testing.T, s *takeovertest.Shop) *run {
	t.Helper()
	repo := s.Repository()
	head, err := repo.Commit(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	targets, err := standard.ReadTargets(t.Context(), head.Tree)
	if err != nil {
		t.Fatal(err)
	}
	r := &run{t: t, folder: filepath.Join(repo.GitDir(), "pharos"), served: make(chan string, 100), ended: make(chan error, 1)}
	config, err := workstation.Takeover(workstation.TakeoverConfig{Target: targets[0], Repository: repo, Memory: []string{t.TempDir()},
		Options: standard.Options{REST: s.REST, Actor: "ann@laptop", Env: os.Environ(), Checkout: s.Dir},
		Output: func(string) io.Writer {
			return writer(func(p []byte) {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.printed.Write(p)
			})
		}})
	if err != nil {
		t.Fatal(err)
	}
	config.Events = func(e takeover.Event) {
		doc, err := json.Marshal(e)
		if err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		fmt.Fprintf(&r.events, "%s\n", doc)
		if e.Type == takeover.EventServing {
			r.served <- e.Image
		}
	}
	if r.Session, err = takeover.New(config); err != nil {
		t.Fatal(err)
	}
	return r
}

// begin takes over, after a dry run, until the workloads of these images are served.
func (r *run) begin(images ...string) {
	r.t.Helper()
	plan, err := r.Try(r.t.Context())
	if err != nil || plan.Err() != nil {
		r.t.Fatalf("tried: %v, %v", err, plan.Err())
	}
	go func() { r.ended <- r.Run(r.t.Context()) }()
	for missing := slices.Clone(images); len(missing) > 0; {
		select {
		case image := <-r.served:
			missing = slices.DeleteFunc(missing, func(name string) bool { return name == image })
		case err := <-r.ended:
			r.t.Fatalf("it ended: %v\n%s", err, r.all())
		}
	}
}

// handBack hands everything back.
func (r *run) handBack() {
	r.t.Helper()
	if err := r.HandBack(r.t.Context()); err != nil {
		r.t.Errorf("hand back: %v", err)
	}
	if err := <-r.ended; err != nil {
		r.t.Errorf("it ended with %v", err)
	}
}

// all is what there was of events, and what was printed.
func (r *run) all() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events.String() + r.printed.String()
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

// leaks searches a folder for the secret.
func leaks(t *testing.T, folder string) {
	t.Helper()
	looked := 0
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		looked++
		if strings.Contains(string(data), canary) {
			t.Errorf("the secret is in %s", path)
		}
		return err
	})
	if err != nil || looked == 0 {
		t.Errorf("searched %d files: %v", looked, err)
	}
}
