package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// leaks looks for secrets wherever a takeover of a namespace might leave them.
type leaks struct {
	t  *testing.T
	of *takeoverTest
	// secrets are what is looked for: letters and digits, which every escape leaves
	// as they are.
	secrets []string
	// folders are looked through whole, but for what is below private, and those in
	// caches for what was written since began.
	folders, caches []string
	private         string
	began           time.Time
	// sources are the Secrets that have them, and process is to have them, too.
	sources []string
	process int
	images  []string
	audit   *devtest.Audit
	told    func() map[string]string
}

// kinds are the kinds of place.
var kinds = []string{"file", "argument list", "environment", "object", "event", "image", "request", "output"}

// found says where secrets are, by the kind of place, and how many places of it there
// are.
func (l *leaks) found() (where map[string][]string, looked map[string]int) {
	l.t.Helper()
	where, looked = map[string][]string{}, map[string]int{}
	forms := l.forms()
	look := func(kind, place string, data []byte) {
		looked[kind]++
		if slices.ContainsFunc(forms, func(form []byte) bool { return bytes.Contains(data, form) }) {
			where[kind] = append(where[kind], place)
		}
	}
	for _, folder := range l.folders {
		l.files(folder, time.Time{}, look)
	}
	for _, folder := range l.caches {
		l.files(folder, l.began, look)
	}
	l.processes(look)
	l.objects(look)
	for _, ref := range l.images {
		l.image(ref, look)
	}
	for _, e := range l.audit.Events(l.t, nil) {
		look("request", e.Verb+" "+e.RequestURI, []byte(e.RequestURI+"\n"+e.UserAgent+"\n"+string(e.Request)))
	}
	for name, text := range l.told() {
		look("output", name, []byte(text))
	}
	return where, looked
}

// forms are the secrets as they are, and what base64 makes of them behind any number of
// bytes.
func (l *leaks) forms() (forms [][]byte) {
	for _, s := range l.secrets {
		forms = append(forms, []byte(s))
		for before := range 3 {
			text := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + s))
			forms = append(forms, []byte(text[4:len(text)-4])) // what of it the secret alone decides
		}
	}
	return forms
}

func (l *leaks) files(folder string, since time.Time, look func(kind, place string, data []byte)) {
	l.t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // it was there a moment ago
		}
		if err != nil {
			return err
		}
		if d.IsDir() && l.private != "" && path == l.private {
			return filepath.SkipDir
		}
		look("file", path, []byte(path))
		if !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err != nil || info.ModTime().Before(since) {
			return nil
		}
		data, err := os.ReadFile(path)
		if err == nil {
			look("file", path, data)
		}
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

// processes looks at those of this machine, and not at what containers of the node run,
// whose environment is the pods'.
func (l *leaks) processes(look func(kind, place string, data []byte)) {
	own, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		l.t.Fatal(err)
	}
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		l.t.Fatal(err)
	}
	for _, proc := range all {
		if space, err := os.Readlink(proc + "/ns/pid"); err != nil || space != own {
			continue
		}
		if args, err := os.ReadFile(proc + "/cmdline"); err == nil {
			look("argument list", proc, args)
		}
		if environ, err := os.ReadFile(proc + "/environ"); err == nil && proc != "/proc/"+strconv.Itoa(l.process) {
			look("environment", proc, environ)
		}
	}
}

func (l *leaks) objects(look func(kind, place string, data []byte)) {
	l.t.Helper()
	ctx, c, ns := l.t.Context(), l.of.client, l.of.ns
	add := func(kind, name string, o any, err error) {
		l.t.Helper()
		doc, merr := json.Marshal(o)
		if err != nil || merr != nil {
			l.t.Fatal(err, merr)
		}
		look(kind, name, doc)
	}
	secrets, err := c.CoreV1().Secrets(ns).List(ctx, metav1.ListOptions{})
	for _, o := range secrets.Items {
		if slices.Contains(l.sources, o.Name) {
			continue
		}
		add("object", "Secret "+o.Name, o, err)
		for key, data := range o.Data {
			look("object", "Secret "+o.Name+", "+key, data)
		}
	}
	if err != nil {
		l.t.Fatal(err)
	}
	leases, err := c.CoordinationV1().Leases(ns).List(ctx, metav1.ListOptions{})
	for _, o := range leases.Items {
		add("object", "Lease "+o.Name, o, err)
	}
	configMaps, err := c.CoreV1().ConfigMaps(ns).List(ctx, metav1.ListOptions{})
	add("object", "ConfigMaps", configMaps, err)
	deployments, err := c.AppsV1().Deployments(ns).List(ctx, metav1.ListOptions{})
	add("object", "Deployments", deployments, err)
	replicaSets, err := c.AppsV1().ReplicaSets(ns).List(ctx, metav1.ListOptions{})
	add("object", "ReplicaSets", replicaSets, err)
	pods, err := c.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{})
	add("object", "Pods", pods, err)
	events, err := c.EventsV1().Events(ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	for _, o := range events.Items {
		add("event", o.Reason+" "+o.Name, o, nil)
	}
}

func (l *leaks) image(ref string, look func(kind, place string, data []byte)) {
	l.t.Helper()
	image, err := remote.Image(reference(l.t, ref), remote.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}))
	if err != nil {
		l.t.Fatal(err)
	}
	config, err := image.RawConfigFile()
	if err != nil {
		l.t.Fatal(err)
	}
	look("image", ref+", configuration", config)
	layers, err := image.Layers()
	if err != nil {
		l.t.Fatal(err)
	}
	for i, layer := range layers {
		r, err := layer.Uncompressed()
		if err != nil {
			l.t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			l.t.Fatal(err)
		}
		look("image", fmt.Sprintf("%s, layer %d", ref, i), data)
	}
}

func reference(t *testing.T, ref string) name.Reference {
	t.Helper()
	r, err := name.ParseReference(ref, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// plant puts a secret into a place of each kind, as something that leaks it would.
func (l *leaks) plant() {
	l.t.Helper()
	ctx, c, ns := l.t.Context(), l.of.client, l.of.ns
	plain := "password=" + l.secrets[0]
	encoded := base64.StdEncoding.EncodeToString([]byte("shop:" + l.secrets[0] + "@db"))
	for i, folder := range l.folders {
		text := []string{plain, encoded}[i%2]
		if err := os.WriteFile(filepath.Join(folder, "planted"), []byte("x "+text+" y"), 0o600); err != nil {
			l.t.Fatal(err)
		}
	}
	l.wait(nil, "sh", "-c", "read x", plain)
	l.wait([]string{"DB_URL=postgres://shop:" + l.secrets[0] + "@db"}, "sh", "-c", "read x")
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: ns} }
	secret := &corev1.Secret{ObjectMeta: meta("planted"), Data: map[string][]byte{"session": []byte(`{"env":"` + encoded + `"}`)}}
	if _, err := c.CoreV1().Secrets(ns).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		l.t.Fatal(err)
	}
	lease := &coordinationv1.Lease{ObjectMeta: meta("planted")}
	lease.Annotations = map[string]string{"example.com/purpose": plain} // its request is in the audit log, too
	if _, err := c.CoordinationV1().Leases(ns).Create(ctx, lease, metav1.CreateOptions{}); err != nil {
		l.t.Fatal(err)
	}
	event := &corev1.Event{ObjectMeta: meta("planted"), Reason: "Planted", Message: "a note with " + plain, InvolvedObject: corev1.ObjectReference{Namespace: ns}}
	if _, err := c.CoreV1().Events(ns).Create(ctx, event, metav1.CreateOptions{}); err != nil {
		l.t.Fatal(err)
	}
	for kind, change := range map[string]func(v1.Image) (v1.Image, error){
		"layer": func(i v1.Image) (v1.Image, error) {
			return mutate.AppendLayers(i, static.NewLayer([]byte(plain), types.DockerUncompressedLayer))
		},
		"configuration": func(i v1.Image) (v1.Image, error) {
			return mutate.Config(i, v1.Config{Env: []string{"URL=" + encoded}})
		},
	} {
		image, err := change(empty.Image)
		if err != nil {
			l.t.Fatal(err)
		}
		ref := fmt.Sprintf("%s/%s/planted:%s", l.of.push, ns, kind)
		if err := remote.Write(reference(l.t, ref), image); err != nil {
			l.t.Fatal(err)
		}
		l.images = append(l.images, ref)
	}
	told := l.told
	l.told = func() map[string]string {
		all := told()
		all["planted"] = `{"type":"event","event":{"reason":"` + plain + `"}}`
		return all
	}
}

// wait runs a program that waits until the test ends.
func (l *leaks) wait(env []string, args ...string) {
	l.t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
}
