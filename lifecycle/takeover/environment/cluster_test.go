package environment_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/environment"
)

// canary is the value of a Secret that nothing may show.
const canary = "canary-7f3e91c4b8d2a605"

// rules are what Resolve needs for the workload below, and nothing more.
var rules = []rbacv1.PolicyRule{
	{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"app", "kube-root-ca.crt"}},
	{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"db"}},
	{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"services"}, ResourceNames: []string{"web"}},
	{Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: []string{"api"}},
}

// workload is a request for a workload whose objects are made in a namespace.
func workload(t *testing.T, ns string) environment.Request {
	t.Helper()
	pod := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "api"}}, Spec: corev1.PodSpec{
		ServiceAccountName: "api",
		Volumes: []corev1.Volume{
			{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "db", Items: []corev1.KeyToPath{{Key: "password", Path: "pw"}}}}},
			{Name: "other", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "other"}}},
		},
		Containers: []corev1.Container{{
			Name: "main",
			Env: []corev1.EnvVar{
				{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "db"}, Key: "password"}}},
				{Name: "DATABASE_URL", Value: "postgres://ann:$(PASSWORD)@postgres:5432/shop"},
				{Name: "WEB", Value: "http://$(WEB_SERVICE_HOST):$(WEB_SERVICE_PORT)"},
				{Name: "OTHER", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "other"}, Key: "key"}}},
			},
			EnvFrom: []corev1.EnvFromSource{
				{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "app"}}},
				{Prefix: "OTHER_", SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "other"}}},
			},
			VolumeMounts: []corev1.VolumeMount{{Name: "tls", MountPath: "/etc/tls"}, {Name: "other", MountPath: "/etc/other"}},
		}},
	}}
	return environment.Request{
		Namespace: ns, Pod: pod, Container: "main", Addresses: map[string]string{"postgres:5432": "127.0.0.1:15432"},
		Run: catalogue.Run{
			Env:      []string{"DATABASE_URL", "LOG_*", "WEB"},
			Forwards: []catalogue.RunForward{{Service: "postgres", Port: 5432, Env: []string{"DATABASE_URL"}}},
			Files:    []catalogue.RunFiles{{Path: "/etc/tls"}, {Path: environment.ServiceAccountPath}},
		},
	}
}

// The exact rights that are documented are enough, and no request is made beyond
// them: nothing is listed or watched, and what is not let through is not read.
func TestRights(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	admin := devtest.Client(t, c.Config())
	for _, name := range []string{"db", "other"} {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"password": canary, "key": canary}}
		if _, err := admin.CoreV1().Secrets(ns).Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "app"}, Data: map[string]string{"LOG_LEVEL": "info", "MODE": "x"}}
	if _, err := admin.CoreV1().ConfigMaps(ns).Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ca := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kube-root-ca.crt"}, Data: map[string]string{"ca.crt": "the CA"}}
	// The controllers of a real cluster make it.
	if _, err := admin.CoreV1().ConfigMaps(ns).Create(t.Context(), ca, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	service, err := admin.CoreV1().Services(ns).Create(t.Context(), service, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.CoreV1().ServiceAccounts(ns).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "api"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	config, user := devtest.User(t, c, ns, devtest.Rights{Namespaced: rules})
	audit := devtest.RecordAudit(t, c)

	folder, err := environment.NewFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := folder.Wipe(); err != nil {
			t.Error(err)
		}
	}()
	reader, err := environment.NewReader(config)
	if err != nil {
		t.Fatal(err)
	}
	q := workload(t, ns)
	q.Folder = folder.Path()
	e, err := environment.Resolve(t.Context(), reader, q)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"DATABASE_URL=postgres://ann:" + canary + "@127.0.0.1:15432/shop", "LOG_LEVEL=info", "PHAROS_FILES=" + folder.Path(), "WEB=http://" + service.Spec.ClusterIP + ":80",
	}
	if got := e.Environ(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	var tokens []string
	if err := folder.Write(t.Context(), reader, e, func(token string) { tokens = append(tokens, token) }); err != nil {
		t.Fatal(err)
	}
	local := func(path string) string {
		text, err := os.ReadFile(filepath.Join(folder.Path(), path))
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	if pw, in := local("/etc/tls/pw"), local(environment.ServiceAccountPath+"/namespace"); pw != canary || in != ns {
		t.Errorf("the files hold %q and %q", pw, in)
	}
	if local(environment.ServiceAccountPath+"/ca.crt") == "" {
		t.Error("there is no certificate of the API server")
	}
	// The token is the service account's, and lives for ten minutes.
	token := local(environment.ServiceAccountPath + "/token")
	if len(tokens) != 1 || tokens[0] != token {
		t.Errorf("%d tokens were told", len(tokens))
	}
	review, err := admin.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil || review.Status.User.Username != "system:serviceaccount:"+ns+":api" {
		t.Errorf("the token is of %v, %v", review.Status, err)
	}
	if lives, err := lifetime(token); err != nil || lives != 10*time.Minute {
		t.Errorf("the token lives for %v, %v", lives, err)
	}

	var requests []string
	for _, event := range audit.Events(t, devtest.ByUser(user)) {
		if event.Code/100 != 2 {
			t.Errorf("%s of %s was answered with %d", event.Verb, event.Name, event.Code)
		}
		requests = append(requests, fmt.Sprintf("%s %s %s", event.Verb, event.Resource, event.Name))
	}
	slices.Sort(requests)
	wantRequests := []string{"create serviceaccounts api", "get configmaps app", "get configmaps kube-root-ca.crt", "get secrets db", "get services web"}
	if !slices.Equal(requests, wantRequests) {
		t.Errorf("the requests are %q, want %q", requests, wantRequests)
	}

	// What is not granted is named, with what would grant it.
	q.Run.Env = []string{"OTHER_*"}
	q.Run.Forwards = nil
	_, err = environment.Resolve(t.Context(), reader, q)
	if err == nil || !strings.Contains(err.Error(), "verb get on secrets with the resource name other") {
		t.Error(err)
	}
}

// No file, log, error or encoding that a session makes holds a Secret's value: a
// whole session is searched for it. The search finds one that is planted.
func TestCanary(t *testing.T) {
	t.Parallel()
	for _, planted := range []bool{false, true} {
		dir := t.TempDir()
		var log bytes.Buffer
		session(t, dir, slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), planted)
		if err := os.WriteFile(filepath.Join(dir, "log.jsonl"), log.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		found := search(t, dir)
		switch {
		case planted && len(found) != 1:
			t.Errorf("the planted leak is found in %q", found)
		case !planted && len(found) > 0:
			t.Errorf("the canary is in %q", found)
		}
	}
}

// session is what a takeover does with an environment: it plans, resolves, logs, runs
// processes whose output it keeps, fails, and ends.
func session(t *testing.T, dir string, log *slog.Logger, plant bool) {
	t.Helper()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	admin := devtest.Client(t, c.Config())
	for _, name := range []string{"db", "other"} {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"password": canary, "key": canary}}
		if _, err := admin.CoreV1().Secrets(ns).Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	reader, err := environment.NewReader(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	folder, err := environment.NewFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	q := workload(t, ns)
	q.Pod.Spec.Containers[0].EnvFrom, q.Folder = nil, folder.Path()
	q.Run.Env, q.Run.Files = []string{"*"}, []catalogue.RunFiles{{Path: "/etc/tls", Env: []string{"TLS"}}, {Path: "/etc/other"}}
	q.DotEnv, q.DotEnvName = []byte("MY_TOKEN="+canary+"\n"), ".env"
	q.Pod.Spec.Containers[0].Env = slices.DeleteFunc(q.Pod.Spec.Containers[0].Env, func(e corev1.EnvVar) bool { return e.Name == "WEB" })

	names, err := environment.Names(q)
	if err != nil {
		t.Fatal(err)
	}
	keepJSON(t, filepath.Join(dir, "plan.json"), names)
	e, err := environment.Resolve(t.Context(), reader, q)
	if err != nil {
		t.Fatal(err)
	}
	keepJSON(t, filepath.Join(dir, "environment.json"), e)
	log.Info("resolved", "environment", e, "vars", e.Vars, "files", e.Files)
	if err := folder.Write(t.Context(), reader, e, nil); err != nil {
		t.Fatal(err)
	}
	// Every mistake that a user can make, and its error.
	for _, edit := range []func(*environment.Request){
		func(q *environment.Request) { q.Run.Forwards[0].Env = []string{"PASSWORD"} },
		func(q *environment.Request) {
			q.Run.Ports = []catalogue.RunPort{{Port: 1, Local: 2, Env: []string{"OTHER"}}}
		},
		func(q *environment.Request) { q.Run.Files[0].Env = []string{"PASSWORD"} },
		func(q *environment.Request) { q.DotEnv = []byte("A=\"$" + canary + "\nB=" + canary + "\n" + canary) },
		func(q *environment.Request) { q.Addresses = nil },
	} {
		wrong := q
		wrong.Run.Forwards, wrong.Run.Files = slices.Clone(q.Run.Forwards), slices.Clone(q.Run.Files)
		edit(&wrong)
		_, err := environment.Resolve(t.Context(), reader, wrong)
		if err == nil {
			t.Error("a mistake is no error")
		}
		log.Error("cannot resolve", "error", err)
	}

	out, err := os.Create(filepath.Join(dir, "output.log"))
	if err != nil {
		t.Fatal(err)
	}
	scrubber := environment.NewScrubber(out, e.Secrets()...)
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `
tr '\0' ' ' </proc/$$/cmdline >"$ARGUMENTS" 2>/dev/null
echo "pw is $PASSWORD at $DATABASE_URL, or $MY_TOKEN"
printf %s "user:$PASSWORD" | base64
cat "$PHAROS_FILES/etc/other/key" "$TLS/pw" >&2
printf %s "$PASSWORD" | while IFS= read -r -n1 c 2>/dev/null; do printf %s "$c"; done
printf %s "$PASSWORD"`)
	cmd.Env = append(e.Environ(), "PATH="+os.Getenv("PATH"), "ARGUMENTS="+filepath.Join(dir, "arguments"))
	cmd.Stdout, cmd.Stderr = scrubber, scrubber
	if plant {
		leak, err := os.Create(filepath.Join(dir, "leak"))
		if err != nil {
			t.Fatal(err)
		}
		defer leak.Close()
		cmd.Stdout = io.MultiWriter(scrubber, base64.NewEncoder(base64.StdEncoding, leak))
	}
	log.Info("run", "command", cmd.Args)
	if err := errors.Join(cmd.Run(), scrubber.Close(), out.Close()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "output.log"))
	if err != nil || !strings.Contains(string(text), "pw is *** at *** or ***") && !strings.Contains(string(text), "pw is *** at ***, or ***") {
		t.Errorf("the output is %q, %v", text, err)
	}
	log.Info("end", "folder", folder.Path(), "error", folder.Wipe())
}

func keepJSON(t *testing.T, file string, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// search returns the files that hold the canary, in whatever form.
func search(t *testing.T, dir string) (found []string) {
	t.Helper()
	needles := []string{canary, hex.EncodeToString([]byte(canary))}
	for before := range 3 {
		text := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + canary))
		needles = append(needles, text[4:len(text)-2])
	}
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		joined := strings.ReplaceAll(string(text), "\n", "") // base64 is broken into lines
		for _, needle := range needles {
			if strings.Contains(string(text), needle) || strings.Contains(joined, needle) {
				found = append(found, d.Name())
				break
			}
		}
		return err
	})
	if err != nil || files < 4 {
		t.Fatalf("%d files are searched, %v", files, err)
	}
	return found
}

// lifetime is how long a token lives, by its claims.
func lifetime(token string) (time.Duration, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return 0, errors.New("it is no JWT")
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return 0, err
	}
	var claims struct{ Iat, Exp int64 }
	if err := json.Unmarshal(text, &claims); err != nil {
		return 0, err
	}
	return time.Duration(claims.Exp-claims.Iat) * time.Second, nil
}
