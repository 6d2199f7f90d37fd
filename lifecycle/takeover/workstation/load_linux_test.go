package workstation_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/sizetest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/takeovertest"
)

// services are the images, Deployments and Services of the shop under load, by what
// they are on the workstation. In the cluster all are Go programs.
var services = []string{"go", "python", "node"}

// place is where an edit of a service goes, and what it is then.
func place(t *testing.T, service string, edit int) (file, content string) {
	t.Helper()
	version := fmt.Sprintf("edit%03d", edit)
	switch service {
	case "go":
		return "go/main.go", strings.Replace(text(t, "api.go.txt"), `"v1"`, strconv.Quote(version), 1)
	case "python":
		return "python/main.py", fmt.Sprintf("VERSION = %q\n", version) + text(t, "python.py.txt")
	}
	return "node/server.js", fmt.Sprintf("const VERSION = %q\n", version) + text(t, "node.js.txt")
}

// loadedShop are three services with three replicas each behind Services, under load
// from another pod. Their ports on the workstation are returned too.
func loadedShop(t *testing.T) (s *takeovertest.Shop, ports map[string]int) {
	t.Helper()
	n := devtest.Node(t)
	files, ports := map[string]string{"go.mod": "module shop.example\n\ngo 1.26.0\n"}, map[string]int{}
	images := fmt.Sprintf(`apiVersion: pharos.dev/v1alpha1
kind: Catalogue
images:
- name: load
  platforms: [linux/%s]
  build: {go: {package: ./load}}
  inputs: [load, go.mod]
`, runtime.GOARCH)
	runs := map[string]string{
		"go":     "go: {}",
		"python": "python: {script: main.py}, dir: python, reload: restart",
		"node":   "command: [node, --watch, server.js], dir: node, reload: self",
	}
	for _, service := range services {
		ports[service] = freePort(t)
		images += fmt.Sprintf(`- name: %[1]s
  platforms: [linux/%[2]s]
  build: {go: {package: ./%[1]s}}
  inputs: [%[1]s, go.mod]
  run: {%[3]s, env: [PORT], set: {PLACE: workstation}, ports: [{port: 8080, local: %[4]d, env: [PORT]}]}
`, service, runtime.GOARCH, runs[service], ports[service])
		file, content := place(t, service, 0)
		files[file] = content
		files[service+"/main.go"] = text(t, "api.go.txt")
		files["gitops/"+service+".yaml"] = fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: 3
  strategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers:
      - name: main
        image: %[1]s
        env: [{name: PORT, value: "8080"}, {name: PLACE, value: cluster}]
        ports: [{name: http, containerPort: 8080}]
        readinessProbe: {httpGet: {port: http, path: /}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: %[1]s}
spec:
  selector: {app: %[1]s}
  ports: [{port: 80, targetPort: http}]
`, service)
	}
	files["pharos.yaml"] = images + "delivery: [gitops/**, pharos.yaml]\n"
	files["load/main.go"] = text(t, "load.go.txt")
	files["gitops/load.yaml"] = fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: load}
spec:
  selector: {matchLabels: {app: load}}
  template:
    metadata: {labels: {app: load}}
    spec: {terminationGracePeriodSeconds: 0, containers: [{name: main, image: load, args: [%s]}]}
`, strings.Join(services, ", "))
	s = takeovertest.Deliver(t, n.Cluster, n.PushRegistry(), n.PullRegistry(), files)
	controlled(t, s)
	return s, ports
}

// A Go program, a Python program and one that reloads itself are taken over together
// under load from another pod, edited again and again, and handed back: no request
// fails, and nothing is left.
func TestNodeLoad(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"python3", "node"} {
		if _, err := exec.LookPath(program); err != nil {
			devtest.Unavailable(t, program+" is not in the PATH "+os.Getenv("PATH"))
		}
	}
	edits := 5
	if sizetest.Full() {
		edits = 50
	}
	s, ports := loadedShop(t)
	specs := map[string]string{}
	for _, service := range services {
		specs[service] = s.Spec(service)
	}
	load := follow(t, s)
	answered := func(format string, args ...any) {
		t.Helper()
		var forms []string
		for _, service := range services {
			forms = append(forms, "^answer "+service+" "+fmt.Sprintf(format, args...))
		}
		load.until(forms...)
	}
	edit := func(i int) {
		t.Helper()
		for _, service := range services {
			save(t, s, service, i)
		}
	}
	answered("v1 cluster ")

	edit(1)
	r := newRun(t, s)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(r.all())
		}
	})
	r.begin(services...)
	answered("edit001 workstation")
	for i := range edits {
		edit(i + 2)
		answered("edit%03d workstation", i+2)
	}
	if runs := processes(t, s.Dir); len(runs) < len(services) {
		t.Errorf("only these processes are found: %q", runs)
	}
	r.handBack()
	answered("v1 cluster ")
	gone(t, s)
	counted(t, s)
	s.Whole(specs)
	for service, port := range ports {
		if conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), patience); err == nil {
			conn.Close()
			t.Errorf("something listens still in place of %s", service)
		}
	}
	if left := processes(t, s.Dir); len(left) > 0 {
		t.Errorf("these processes are left: %q", left)
	}
}

// save edits a service. The file is written at once and keeps its length: node loses
// sight of a file that is empty in between.
func save(t *testing.T, s *takeovertest.Shop, service string, edit int) {
	t.Helper()
	name, content := place(t, service, edit)
	f, err := os.OpenFile(filepath.Join(s.Dir, name), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(content)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// gone waits until the agents' pods have ended.
func gone(t *testing.T, s *takeovertest.Shop) {
	t.Helper()
	for late := time.After(patience); ; {
		pods, err := s.Client().CoreV1().Pods(s.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app!=load"})
		if err != nil {
			t.Fatal(err)
		}
		if len(pods.Items) == 3*len(services) {
			return
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-late:
			t.Fatalf("there are %d pods still", len(pods.Items))
		}
	}
}

// counted wants no request to have failed, as the load has counted them.
func counted(t *testing.T, s *takeovertest.Shop) {
	t.Helper()
	pods, err := s.Client().CoreV1().Pods(s.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=load"})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("the load is %v, %v", pods.Items, err)
	}
	log, err := s.Client().CoreV1().Pods(s.Namespace).GetLogs(pods.Items[0].Name, &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var asked, failed int
	last := string(log[bytes.LastIndex(log, []byte("asked ")):])
	if _, err := fmt.Sscanf(last, "asked %d, %d failed", &asked, &failed); err != nil {
		t.Fatalf("%q: %v", last, err)
	}
	t.Logf("%d requests failed of %d", failed, asked)
	if failed > 0 || asked < 1000 {
		t.Errorf("%d requests failed of %d", failed, asked)
	}
}

// processes are those that run in a folder, or a program that is there.
func processes(t *testing.T, folder string) (list []string) {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil || len(links) == 0 {
		t.Fatalf("there are %d processes: %v", len(links), err)
	}
	for _, cwd := range links {
		for _, link := range []string{cwd, filepath.Join(filepath.Dir(cwd), "exe")} {
			if at, err := os.Readlink(link); err == nil && strings.HasPrefix(at, folder) {
				list = append(list, link+" "+at)
			}
		}
	}
	return list
}
