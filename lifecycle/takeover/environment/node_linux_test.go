package environment_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/environment"
)

// patience bounds a wait for a pod; a run that works never comes near it.
const patience = 5 * time.Minute

// Of many random containers, what the kubelet gives each of them is what is resolved
// for it; and what a random allow-list lets through is the part of it with those
// names.
func TestEnvironmentIsTheKubelets(t *testing.T) {
	t.Parallel()
	const pods, containers = 2, 25
	n := devtest.Node(t)
	config := n.Config()
	config.WarningHandler = rest.NoWarnings{} // names that are declared twice are meant to be
	client, ns := devtest.Client(t, config), devtest.Namespace(t, n.Cluster)
	r := rand.New(rand.NewPCG(5, 6))
	service := makeSources(t, client, ns, r)
	reader, err := environment.NewReader(n.Config())
	if err != nil {
		t.Fatal(err)
	}
	compared, links, forms := 0, 0, map[string]int{}
	for i := range pods {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("random-%d", i), Labels: map[string]string{"app": "x"}, Annotations: map[string]string{"a.b/c": "an $(A) annotation"}},
			Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever},
		}
		if i == 1 {
			no, limits := false, corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("700Mi"), corev1.ResourceCPU: resource.MustParse("1700m")}
			pod.Spec.EnableServiceLinks = &no
			pod.Spec.Resources = &corev1.ResourceRequirements{Limits: limits}
		}
		for j := range containers {
			c := randomContainer(r)
			c.Name, c.Image = fmt.Sprintf("c%d", j), n.Busybox()
			c.Command = []string{"/bin/busybox", "base64", "/proc/self/environ"}
			pod.Spec.Containers = append(pod.Spec.Containers, c)
		}
		pod = run(t, client, ns, pod)
		for _, c := range pod.Spec.Containers {
			given := environOf(t, client, pod, c.Name)
			q := environment.Request{
				Namespace: ns, Pod: corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}, Live: pod, Container: c.Name,
				Run: catalogue.Run{Env: []string{"*", "DB_MAIN_SERVICE_HOST", "DB_MAIN_PORT_5432_TCP", "DB_MAIN_SERVICE_PORT_PG", "DB_MAIN_PORT", "KUBERNETES_SERVICE_PORT_HTTPS", "KUBERNETES_PORT_443_TCP_ADDR"}},
			}
			got := resolved(t, reader, q)
			want := maps.Clone(given)
			maps.DeleteFunc(want, func(name, _ string) bool {
				// Of the image and of the runtime, and the links that are not listed.
				link := strings.HasPrefix(name, "DB_MAIN_") || strings.HasPrefix(name, "KUBERNETES_")
				return name == "PATH" || name == "HOSTNAME" || name == "HOME" || link && !slices.Contains(q.Run.Env, name)
			})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("container %s of pod %s: -kubelet +resolved\n%s\n%+v\n%+v", c.Name, pod.Name, diff, c.EnvFrom, c.Env)
			}
			compared += len(want)
			countForms(forms, &c, given)
			if given["DB_MAIN_SERVICE_HOST"] == service.Spec.ClusterIP {
				links++
			}
			q.Run.Env = randomAllowed(r)
			maps.DeleteFunc(want, func(name, _ string) bool {
				return !q.Run.Allows(name) || strings.HasPrefix(name, "DB_MAIN_") || strings.HasPrefix(name, "KUBERNETES_")
			})
			if diff := cmp.Diff(want, resolved(t, reader, q)); diff != "" {
				t.Errorf("container %s of pod %s, %q: -kubelet +resolved\n%s", c.Name, pod.Name, q.Run.Env, diff)
			}
		}
	}
	t.Logf("%d variables of %d containers are the same", compared, pods*containers)
	if compared < 10*pods*containers || links < containers {
		t.Errorf("that compares little: %d variables, links in %d containers", compared, links)
	}
	for _, form := range []string{"ConfigMap key", "missing ConfigMap key", "Secret key", "missing Secret key", "envFrom", "envFrom of nothing", "field", "resource", "resource of another container", "name that no shell can set", "reference", "reference to a link"} {
		if forms[form] < 3 {
			t.Errorf("that compares little: %s occurs %d times", form, forms[form])
		}
	}
}

// countForms counts how variables of a container are declared.
func countForms(forms map[string]int, c *corev1.Container, given map[string]string) {
	for _, from := range c.EnvFrom {
		name := ""
		if from.ConfigMapRef != nil {
			name = from.ConfigMapRef.Name
		} else {
			name = from.SecretRef.Name
		}
		if name == "none" {
			forms["envFrom of nothing"]++
		} else {
			forms["envFrom"]++
		}
	}
	for _, e := range c.Env {
		_, there := given[e.Name]
		missing := ""
		if !there {
			missing = "missing "
		}
		switch from := e.ValueFrom; {
		case from == nil && strings.Contains(e.Value, "SERVICE_HOST)"):
			forms["reference to a link"]++
		case from == nil && strings.Contains(e.Value, "$("):
			forms["reference"]++
		case from == nil:
		case from.ConfigMapKeyRef != nil:
			forms[missing+"ConfigMap key"]++
		case from.SecretKeyRef != nil:
			forms[missing+"Secret key"]++
		case from.FieldRef != nil:
			forms["field"]++
		case from.ResourceFieldRef != nil && from.ResourceFieldRef.ContainerName != "":
			forms["resource of another container"]++
		case from.ResourceFieldRef != nil:
			forms["resource"]++
		}
		if there && strings.ContainsAny(e.Name, ".-1") {
			forms["name that no shell can set"]++
		}
	}
}

// names are those of variables; each is also a key of some ConfigMaps and Secrets.
var names = []string{"A", "B", "C", "D", "E", "F", "a.b", "x-y", "1D", "_U"}

// values are what variables and keys have.
var values = []string{
	"", "plain", "$(A)", "$(B)-$(C)", "$$(A)", "$$$(D)", "$(NONE) $(", "$(a.b)$(x-y)", "two\nlines $(E)", "ünïcode $(1D) €", "$", "a=b=$(F)", " blanks ", "$(P_A)$(P_1D)", "http://$(DB_MAIN_SERVICE_HOST):$(DB_MAIN_SERVICE_PORT)", "$(KUBERNETES_PORT)",
}

// makeSources makes the ConfigMaps and Secrets that containers refer to, and a
// Service.
func makeSources(t *testing.T, client kubernetes.Interface, ns string, r *rand.Rand) *corev1.Service {
	t.Helper()
	data := func() map[string]string {
		m := map[string]string{}
		for _, name := range names {
			if r.IntN(3) > 0 {
				m[name] = values[r.IntN(len(values))]
			}
		}
		return m
	}
	for i := range 3 {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("cm%d", i)}, Data: data()}
		m.Data["always"] = fmt.Sprintf("cm%d", i)
		if _, err := client.CoreV1().ConfigMaps(ns).Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s%d", i)}, StringData: data()}
		s.StringData["always"] = fmt.Sprintf("s%d", i)
		if _, err := client.CoreV1().Secrets(ns).Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	service, err := client.CoreV1().Services(ns).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "db-main"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "pg", Port: 5432}, {Name: "dns-udp", Port: 53, Protocol: corev1.ProtocolUDP}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return service
}

func randomContainer(r *rand.Rand) corev1.Container {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	optional := func() *bool { yes := true; return &yes }
	var c corev1.Container
	if r.IntN(2) == 0 {
		c.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(pick("64Mi", "100M", "99999Ki")), corev1.ResourceCPU: resource.MustParse(pick("1", "250m", "1500m"))}
		c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m"), corev1.ResourceMemory: resource.MustParse("1Mi")}
	}
	for range r.IntN(4) {
		from := corev1.EnvFromSource{Prefix: pick("", "", "P_", "P.")}
		if r.IntN(2) == 0 {
			from.ConfigMapRef = &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: pick("cm0", "cm1", "cm2", "none")}, Optional: optional()}
		} else {
			from.SecretRef = &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: pick("s0", "s1", "s2", "none")}, Optional: optional()}
		}
		c.EnvFrom = append(c.EnvFrom, from)
	}
	for range 4 + r.IntN(14) {
		e := corev1.EnvVar{Name: pick(append(names, "P_A", "P_1D", "always")...)}
		switch r.IntN(8) {
		case 0:
			e.ValueFrom = &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: pick("cm0", "cm1", "none")}, Key: pick(names...), Optional: optional()}}
		case 1:
			e.ValueFrom = &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: pick("s0", "s1", "none")}, Key: pick(names...), Optional: optional()}}
		case 2:
			e.ValueFrom = &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: pick("metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels['app']", "metadata.annotations['a.b/c']", "metadata.labels['none']",
				"spec.nodeName", "spec.serviceAccountName", "status.podIP", "status.podIPs", "status.hostIP", "status.hostIPs")}}
		case 3:
			of := pick("limits.cpu", "limits.memory", "requests.cpu", "requests.memory", "limits.ephemeral-storage", "requests.ephemeral-storage")
			selector := &corev1.ResourceFieldSelector{Resource: of, Divisor: resource.MustParse(pick("0", "1")), ContainerName: pick("", "", "c0")}
			if strings.HasSuffix(of, "memory") && r.IntN(2) == 0 {
				selector.Divisor = resource.MustParse("1Mi")
			}
			if strings.HasSuffix(of, "cpu") && r.IntN(2) == 0 {
				selector.Divisor = resource.MustParse("1m")
			}
			e.ValueFrom = &corev1.EnvVarSource{ResourceFieldRef: selector}
		default:
			e.Value = pick(values...)
		}
		c.Env = append(c.Env, e)
	}
	return c
}

func randomAllowed(r *rand.Rand) []string {
	patterns := []string{"A", "B*", "*", "P_*", "*_A", "always", "a*", "x*y", "F", "_U", "E*", "*b"}
	r.Shuffle(len(patterns), func(i, j int) { patterns[i], patterns[j] = patterns[j], patterns[i] })
	list := slices.DeleteFunc(patterns[:1+r.IntN(4)], func(p string) bool { return p == "*" })
	slices.Sort(list)
	return list
}

// run creates a pod and waits until all its containers have ended.
func run(t *testing.T, client kubernetes.Interface, ns string, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	pod, err := client.CoreV1().Pods(ns).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ended, err := devtest.Await(ctx, client.CoreV1().Pods(ns).Watch, pod.Name, func(pod *corev1.Pod) bool {
		return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	})
	if err != nil {
		t.Fatalf("%v: %+v", err, ended)
	}
	if ended.Status.Phase != corev1.PodSucceeded {
		t.Fatalf("pod %s is %s: %+v", pod.Name, ended.Status.Phase, ended.Status.ContainerStatuses)
	}
	return ended
}

// environOf is the environment that a container was given.
func environOf(t *testing.T, client kubernetes.Interface, pod *corev1.Pod, container string) map[string]string {
	t.Helper()
	out, err := client.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: container}).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(string(out), "\n", ""))
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	given := map[string]string{}
	for pair := range strings.SplitSeq(strings.TrimSuffix(string(text), "\x00"), "\x00") {
		name, value, _ := strings.Cut(pair, "=")
		given[name] = value
	}
	return given
}

func resolved(t *testing.T, reader environment.Reader, q environment.Request) map[string]string {
	t.Helper()
	e, err := environment.Resolve(t.Context(), reader, q)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, v := range e.Vars {
		got[v.Name] = v.Value()
	}
	return got
}

// Of mounted files, what the kubelet shows a container is what is brought here, but
// for tokens, which are others.
func TestFilesAreTheKubelets(t *testing.T) {
	t.Parallel()
	n := devtest.Node(t)
	client, ns := devtest.Client(t, n.Config()), devtest.Namespace(t, n.Cluster)
	makeSources(t, client, ns, rand.New(rand.NewPCG(7, 8)))
	binary := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "binary"}, BinaryData: map[string][]byte{"bin": {0, 255, '\n', 0}}, Data: map[string]string{"empty": ""}}
	if _, err := client.CoreV1().ConfigMaps(ns).Create(t.Context(), binary, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	yes, named := true, func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	always := func(path string) []corev1.KeyToPath { return []corev1.KeyToPath{{Key: "always", Path: path}} }
	wanted := []string{"/m/config", "/m/secret", "/m/down", "/m/projected", "/m/one", "/m/deep", environment.ServiceAccountPath}
	pod := run(t, client, ns, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "files", Labels: map[string]string{"b": "2", "a": "1"}, Annotations: map[string]string{"q": "a \"quoted\"\nline"}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Volumes: []corev1.Volume{
				{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: named("binary")}}},
				{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s1", Optional: &yes, Items: append(always("a/b/c"), corev1.KeyToPath{Key: "none", Path: "none"})}}},
				{Name: "down", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{
					{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}}, {Path: "in/name", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}},
					{Path: "annotation", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['q']"}},
					{Path: "cpu", ResourceFieldRef: &corev1.ResourceFieldSelector{ContainerName: "main", Resource: "limits.cpu", Divisor: resource.MustParse("1m")}},
				}}}},
				{Name: "projected", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
					{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: named("cm0")}},
					{Secret: &corev1.SecretProjection{LocalObjectReference: named("s0")}},
					{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: named("none"), Optional: &yes}},
					{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: named("cm2"), Items: always("x/y/z")}},
				}}}},
			},
			Containers: []corev1.Container{{
				Name: "main", Image: n.Busybox(),
				Command: []string{"/bin/sh", "-c", `find -L /m ` + environment.ServiceAccountPath + ` -type f ! -path '*/..*' | while read f; do echo "$f $(base64 $f | tr -d '\n')"; done`},
				VolumeMounts: []corev1.VolumeMount{
					{Name: "config", MountPath: "/m/config"}, {Name: "secret", MountPath: "/m/secret"}, {Name: "down", MountPath: "/m/down/"}, {Name: "projected", MountPath: "/m/projected"},
					{Name: "config", MountPath: "/m/one", SubPath: "bin"}, {Name: "projected", MountPath: "/m/deep", SubPath: "x/y"},
				},
			}},
		},
	})
	out, err := client.CoreV1().Pods(ns).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		want[path] = text
	}
	folder, err := environment.NewFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := folder.Wipe(); err != nil {
			t.Error(err)
		}
	}()
	reader, err := environment.NewReader(n.Config())
	if err != nil {
		t.Fatal(err)
	}
	// Of the template, where the token's mount is not yet, and of the pod.
	template := *pod.DeepCopy()
	template.Spec.Volumes = slices.DeleteFunc(template.Spec.Volumes, func(v corev1.Volume) bool { return strings.HasPrefix(v.Name, "kube-api-access-") })
	main := &template.Spec.Containers[0]
	main.VolumeMounts = slices.DeleteFunc(main.VolumeMounts, func(m corev1.VolumeMount) bool { return strings.HasPrefix(m.Name, "kube-api-access-") })
	if len(main.VolumeMounts)+1 != len(pod.Spec.Containers[0].VolumeMounts) {
		t.Fatal("the pod has no token")
	}
	for _, of := range []*corev1.Pod{pod, &template} {
		q := environment.Request{Namespace: ns, Pod: corev1.PodTemplateSpec{ObjectMeta: of.ObjectMeta, Spec: of.Spec}, Live: pod, Container: "main", Folder: folder.Path()}
		for _, path := range wanted {
			q.Run.Files = append(q.Run.Files, catalogue.RunFiles{Path: path})
		}
		e, err := environment.Resolve(t.Context(), reader, q)
		if err != nil {
			t.Fatal(err)
		}
		if err := folder.Write(t.Context(), reader, e, nil); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		err = filepath.WalkDir(folder.Path(), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			got[strings.TrimPrefix(path, folder.Path())] = base64.StdEncoding.EncodeToString(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		const token = environment.ServiceAccountPath + "/token"
		if got[token] == "" || want[token] == "" || got[token] == want[token] {
			t.Error("there are no two tokens")
		}
		got[token] = want[token]
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-kubelet +written\n%s", diff)
		}
	}
	if len(want) < 14 {
		t.Errorf("that compares little: %v", want)
	}
}
