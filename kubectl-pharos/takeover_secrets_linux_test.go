package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
)

// tellerManifest is a service that gets secrets, and calls another one.
const tellerManifest = `apiVersion: apps/v1
kind: Deployment
metadata: {name: api}
spec:
  replicas: 1
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec:
      containers:
      - name: main
        image: api
        env:
        - {name: GREETING, value: hello}
        - {name: PORT, value: "8080"}
        - {name: DB_PASSWORD, valueFrom: {secretKeyRef: {name: credentials, key: password}}}
        - {name: UNLISTED_PASSWORD, valueFrom: {secretKeyRef: {name: credentials, key: unlisted}}}
        - {name: DB_URL, value: "http://db:80/index.html"}
        - {name: DB_DSN, value: "postgres://shop:$(DB_TOKEN)@db:80/shop"}
        - {name: TLS_KEY, value: /etc/tls/tls.key}
        envFrom: [{secretRef: {name: tokens}}]
        ports: [{name: http, containerPort: 8080}]
        readinessProbe: {httpGet: {port: http, path: /}, periodSeconds: 1}
        volumeMounts: [{name: config, mountPath: /etc/shop}, {name: tls, mountPath: /etc/tls}, {name: other, mountPath: /etc/other}]
      volumes:
      - {name: config, configMap: {name: settings}}
      - {name: tls, secret: {secretName: tls}}
      - {name: other, secret: {secretName: tls}}
---
apiVersion: v1
kind: Service
metadata: {name: api}
spec:
  selector: {app: api}
  ports: [{port: 80, targetPort: http}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: db}
spec:
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: main
        image: BUSYBOX
        command: [sh, -c, "mkdir /www && hostname >/www/index.html && exec httpd -f -p 8000 -h /www"]
        ports: [{name: web, containerPort: 8000}]
        readinessProbe: {tcpSocket: {port: web}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: db}
spec:
  selector: {app: db}
  ports: [{port: 80, targetPort: web}]
`

// tellerTest is a takeover of it.
type tellerTest struct {
	*takeoverTest
	password, token, key string
	home, temp, memory   string
}

func newTellerTest(t *testing.T) *tellerTest {
	t.Helper()
	s := &tellerTest{takeoverTest: takeoverOf(t), password: `pass/+&="'<é` + rand.Text(), token: rand.Text(), key: rand.Text(), home: t.TempDir(), temp: t.TempDir()}
	var err error
	if s.memory, err = os.MkdirTemp("/dev/shm", "pharos-test-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(s.memory) })
	goEnv, err := exec.Command("go", "env", "-json", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB", "GOFLAGS", "GOTOOLCHAIN").Output()
	if err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{}
	if err := json.Unmarshal(goEnv, &vars); err != nil {
		t.Fatal(err)
	}
	vars["HOME"], vars["TMPDIR"], vars["XDG_RUNTIME_DIR"] = s.home, s.temp, s.memory
	for name, value := range vars {
		s.env = append(s.env, name+"="+value)
	}
	for _, o := range []*corev1.Secret{
		{ObjectMeta: metav1.ObjectMeta{Name: "credentials"}, StringData: map[string]string{"password": s.password, "unlisted": "unlisted-" + rand.Text()}},
		{ObjectMeta: metav1.ObjectMeta{Name: "tokens"}, StringData: map[string]string{"DB_TOKEN": s.token}},
		{ObjectMeta: metav1.ObjectMeta{Name: "tls"}, StringData: map[string]string{"tls.key": "-----BEGIN KEY-----\n" + s.key + "\n-----END KEY-----\n"}},
	} {
		if _, err := s.client.CoreV1().Secrets(s.ns).Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"shop.conf": "open = true\n"}}
	if _, err := s.client.CoreV1().ConfigMaps(s.ns).Create(t.Context(), settings, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.deliver(map[string]string{
		"go.mod":  "module shop.example/api\n\ngo 1.26\n",
		"main.go": s.teller("first"),
		"pharos.yaml": s.catalogue(fmt.Sprintf(`
    go: {}
    env: [GREETING, PORT, "DB_*"]
    ports: [{port: 8080, local: %d, env: PORT}]
    forwards: [{service: "db:80", env: [DB_URL, DB_DSN]}]
    files: [/etc/shop, {path: /etc/tls, env: TLS_KEY}, /var/run/secrets/kubernetes.io/serviceaccount]`, freePort(t))),
		"gitops/api.yaml": strings.Replace(tellerManifest, "BUSYBOX", s.node.Busybox(), 1),
	})
	return s
}

func (s *tellerTest) teller(version string) string {
	s.t.Helper()
	text, err := os.ReadFile("testdata/takeover/teller.go.txt")
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Replace(string(text), `"first"`, fmt.Sprintf("%q", version), 1)
}

func sumOf(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// A takeover whose process gets secrets as variables and files, and calls another
// Service, leaves them nowhere else: not on a disk, not with any other process, not on
// the cluster or in its registry, and not in anything that it says. Its guardian is
// killed meanwhile, and it ends by itself when the edit is taken back.
func TestTakeoverKeepsSecrets(t *testing.T) {
	t.Parallel()
	s := newTellerTest(t)
	before := s.spec()
	audit, began := devtest.RecordAudit(t, s.cluster), time.Now()
	s.write("main.go", s.teller("edited"))
	events := s.follow("takeover", "--events", "--timeout", "10m")
	events.await(`"type":"serving"`)
	logs := s.follow("takeover", "logs", "-f")
	st := s.status()
	if len(st.Workloads[0].Forwards) != 1 || st.Workloads[0].Process == nil {
		t.Fatalf("the status is %+v", st.Workloads[0])
	}

	private := s.reached()
	address := s.toldAddress(st, events)
	if page := browse(t, address); page != strings.TrimSpace(s.ask("/db")) {
		t.Errorf("a browser finds %q at %s, and the process something else", page, address)
	}
	s.ask("/print")
	logs.await("all is printed")
	logs.await("api | error ")
	s.scrubbed(logs.text())

	token, err := os.ReadFile(filepath.Join(private, "var/run/secrets/kubernetes.io/serviceaccount/token"))
	if err != nil || len(token) < 100 {
		t.Fatalf("the token is %d bytes, %v", len(token), err)
	}
	agent := s.image()
	if !strings.Contains(agent, "/pharos-agent@") {
		t.Errorf("%s is no agent", agent)
	}
	search := &leaks{
		t: t, of: s.takeoverTest, secrets: []string{s.password[len(s.password)-26:], s.token, s.key, string(token[len(token)-60:])},
		folders: []string{filepath.Join(s.dir, ".git"), s.dir, s.home, s.temp, s.memory}, private: private, began: began, sources: []string{"credentials", "tokens", "tls"},
		process: st.Workloads[0].Process.PID, images: []string{agent}, audit: audit,
	}
	if out, err := exec.Command("go", "env", "GOCACHE").Output(); err == nil {
		search.caches = []string{strings.TrimSpace(string(out))}
	}
	all, _ := s.run("takeover", "logs")
	text, _ := s.run("takeover", "status")
	search.told = func() map[string]string {
		return map[string]string{"--events": events.text(), "logs -f": logs.text(), "logs": all, "status": text}
	}
	nowhere := func() {
		t.Helper()
		found, looked := search.found()
		for _, kind := range kinds {
			if len(found[kind]) > 0 || looked[kind] == 0 {
				t.Errorf("%s: of %d places secrets are in %q", kind, looked[kind], found[kind])
			}
		}
		t.Logf("looked at %v", looked)
	}
	nowhere()
	if environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", st.PID)); err != nil || len(environ) == 0 {
		t.Errorf("the guardian's environment cannot be read: %v", err)
	}

	s.killGuardian()
	events.end()
	if _, err := os.Stat(private); err != nil {
		t.Errorf("the folder of a guardian that was killed is not there: %v", err)
	}
	again := s.follow("takeover", "--auto-handback", "--timeout", "10m")
	if line := again.await(": db:80 is at "); !strings.HasSuffix(line, address) {
		t.Errorf("it was at %s before: %s", address, line)
	}
	again.await("serving. ")
	if _, err := os.Stat(private); !os.IsNotExist(err) {
		t.Errorf("the folder of a guardian that was killed is there still: %v", err)
	}
	search.private = s.reached()
	search.process = s.status().Workloads[0].Process.PID
	s.survives()

	s.write("main.go", s.teller("first"))
	if code := again.end(); code != 0 {
		t.Errorf("--auto-handback: exit %d\n%s", code, again.text())
	}
	if after := s.spec(); after != before {
		t.Errorf("the spec was\n%s\nand is\n%s", before, after)
	}
	if out, code := s.run("takeover", "status"); code != exitNotSo {
		t.Errorf("takeover status afterwards: exit %d\n%s", code, out)
	}
	if out, code := s.run("status"); code != 0 {
		t.Errorf("status afterwards: exit %d\n%s", code, out)
	}
	if left, err := os.ReadDir(s.memory); err != nil || len(left) > 0 {
		t.Errorf("in memory there is left %v, %v", left, err)
	}

	told := search.told
	search.private, search.process, search.caches, search.images = "", 0, nil, []string{s.image()}
	search.told = func() map[string]string {
		all := told()
		all["the second takeover"] = again.text()
		return all
	}
	nowhere()
	search.plant()
	found, _ := search.found()
	for _, kind := range kinds {
		if len(found[kind]) == 0 {
			t.Errorf("%s: a secret that was planted is not found", kind)
		}
	}
	for _, folder := range search.folders {
		if !slices.Contains(found["file"], filepath.Join(folder, "planted")) {
			t.Errorf("the file planted in %s is not among those found: %q", folder, found["file"])
		}
	}
	for _, image := range search.images[1:] {
		if !slices.ContainsFunc(found["image"], func(place string) bool { return strings.HasPrefix(place, image) }) {
			t.Errorf("%s is not among the images found: %q", image, found["image"])
		}
	}
}

// reached wants the process to have what pharos.yaml lists and nothing else, and
// returns the folder with its files.
func (s *tellerTest) reached() (private string) {
	s.t.Helper()
	variables := s.ask("/variables")
	for name, value := range map[string]string{"GREETING": "hello", "DB_PASSWORD": s.password, "DB_TOKEN": s.token} {
		if !strings.Contains(variables, name+" "+sumOf(value)) {
			s.t.Errorf("%s is another one:\n%s", name, variables)
		}
	}
	if strings.Contains(variables, "UNLISTED") || !strings.Contains(variables, "DB_DSN ") || strings.Contains(variables, "DB_URL "+sumOf("http://db:80/index.html")) {
		s.t.Errorf("the variables are\n%s", variables)
	}
	private, files, _ := strings.Cut(s.ask("/files"), "\n")
	if filepath.Dir(private) != s.memory {
		s.t.Errorf("the files are in %s, want them in %s", private, s.memory)
	}
	if info, err := os.Stat(private); err != nil || info.Mode().Perm() != 0o700 {
		s.t.Errorf("their folder is %v, %v", info, err)
	}
	for path, text := range map[string]string{"/etc/shop/shop.conf": "open = true\n", "/etc/tls/tls.key": "-----BEGIN KEY-----\n" + s.key + "\n-----END KEY-----\n"} {
		if !strings.Contains(files, path+" -rw------- "+sumOf(text)+"\n") {
			s.t.Errorf("%s is another one:\n%s", path, files)
		}
	}
	for _, name := range []string{"token", "ca.crt", "namespace"} {
		if !strings.Contains(files, "/var/run/secrets/kubernetes.io/serviceaccount/"+name+" -rw------- ") {
			s.t.Errorf("the service account has no %s:\n%s", name, files)
		}
	}
	if strings.Contains(files, "/etc/other") {
		s.t.Errorf("there are files that are not listed:\n%s", files)
	}
	return private
}

// toldAddress wants the address of the other Service to be told everywhere.
func (s *tellerTest) toldAddress(st guardian.Status, events *follower) string {
	s.t.Helper()
	address := st.Workloads[0].Forwards[0].Address
	if text, code := s.run("takeover", "status"); code != 0 || !strings.Contains(text, "Deployment "+s.ns+"/api: db:80 is at "+address+"\n") {
		s.t.Errorf("takeover status does not say that it is at %s: exit %d\n%s", address, code, text)
	}
	if line := events.await(`"type":"forwards"`); !strings.Contains(line, `"forwards":[{"service":"db:80","address":"`+address+`"`) {
		s.t.Errorf("the event says something else than %s: %s", address, line)
	}
	return address
}

// browse is what a browser finds at an address.
func browse(t *testing.T, address string) string {
	t.Helper()
	resp, err := http.Get("http://" + address + "/index.html")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(page))
}

// scrubbed wants all that was printed of a secret to be masked.
func (s *tellerTest) scrubbed(text string) {
	s.t.Helper()
	for begin, times := range map[string]int{"plain": 1, "pieces": 1, "base64": 4, "base64url": 4, "query": 1, "path": 1, "json": 1, "go": 1, "error": 1} {
		masked := 0
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "api | "+begin+" ") && strings.Contains(line, "***") {
				masked++
			}
		}
		if masked != times {
			s.t.Errorf("%d lines of %q are masked, want %d:\n%s", masked, begin, times, text)
		}
	}
}

// survives has the other Service's pod replaced, and wants the process to reach the
// new one.
func (s *tellerTest) survives() {
	s.t.Helper()
	pods := s.client.CoreV1().Pods(s.ns)
	first := strings.TrimSpace(s.ask("/db"))
	if err := pods.Delete(s.t.Context(), first, metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
	for second := first; second == first; {
		answer, err := s.client.CoreV1().Services(s.ns).ProxyGet("http", "api", "80", "/db", nil).DoRaw(s.t.Context())
		if s.t.Context().Err() != nil {
			s.t.Fatalf("the process never reaches another pod than %s: %v", first, err)
		}
		if err == nil { // else no pod was ready
			second = strings.TrimSpace(string(answer))
		}
	}
}

// image is the Deployment's, as it is pushed from here.
func (s *tellerTest) image() string {
	s.t.Helper()
	d, err := s.client.AppsV1().Deployments(s.ns).Get(s.t.Context(), "api", metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Replace(d.Spec.Template.Spec.Containers[0].Image, s.pull, s.push, 1)
}
