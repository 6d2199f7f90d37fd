package environment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/pharos-dev/pharos/catalogue"
)

// mounted is a pod with mounts of all kinds.
func mounted(wanted ...string) Request {
	executable, optional := int32(0o555), true
	q := request(corev1.Container{VolumeMounts: []corev1.VolumeMount{
		{Name: "config", MountPath: "/etc/app"}, {Name: "tls", MountPath: "/etc/app/tls/"}, {Name: "config", MountPath: "/etc/one.yaml", SubPath: "LOG"},
		{Name: "all", MountPath: "/all"}, {Name: "scratch", MountPath: "/tmp"}, {Name: "all", MountPath: "/sub", SubPath: "deep"}, {Name: "config", MountPath: "/expr", SubPathExpr: "$(A)"}, {Name: "bundle", MountPath: "/bundle"},
	}})
	q.Pod.Labels = map[string]string{"app": "api", "tier": "1"}
	q.Pod.Spec.Volumes = []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: ref("app")}}},
		{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "db", DefaultMode: &executable, Items: []corev1.KeyToPath{{Key: "password", Path: "in/pw"}, {Key: "url", Path: "url"}}}}},
		{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "bundle", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{}}}}}},
		{Name: "all", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: ref("app")}},
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: ref("more"), Items: []corev1.KeyToPath{{Key: "SHARED", Path: "SHARED"}, {Key: "EXTRA", Path: "deep/er/e"}}}},
			{Secret: &corev1.SecretProjection{LocalObjectReference: ref("none"), Optional: &optional}},
			{Secret: &corev1.SecretProjection{LocalObjectReference: ref("unused"), Items: []corev1.KeyToPath{{Key: "x", Path: "x"}}}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}}}}},
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", Audience: "vault"}},
		}}}},
	}
	for _, w := range wanted {
		q.Run.Files = append(q.Run.Files, catalogue.RunFiles{Path: w})
	}
	return q
}

func TestFiles(t *testing.T) {
	t.Parallel()
	const pw, url = "s3cret-password", "postgres://ann:pass%40word@postgres:5432/shop"
	for _, tt := range []struct {
		wanted []string
		want   map[string]string
		reads  []string
	}{
		{[]string{"/etc/app/LOG"}, map[string]string{"etc/app/LOG": "info"}, []string{"configmap/app"}},
		{[]string{"/etc/one.yaml"}, map[string]string{"etc/one.yaml": "info"}, []string{"configmap/app"}},
		{[]string{"/etc/app/tls/in"}, map[string]string{"etc/app/tls/in/pw": pw}, []string{"secret/db"}},
		{[]string{"/etc/app"}, map[string]string{"etc/app/LOG": "info", "etc/app/MODE": "cluster", "etc/app/SHARED": "from app", "etc/app/tls/in/pw": pw, "etc/app/tls/url": url}, []string{"configmap/app", "secret/db"}},
		{[]string{"/sub"}, map[string]string{"sub/er/e": "e"}, []string{"configmap/app", "configmap/more", "secret/none"}},
		{[]string{"/all"}, map[string]string{
			"all/LOG": "info", "all/MODE": "cluster", "all/SHARED": "from more", "all/deep/er/e": "e", "all/x": "y", "all/labels": "app=\"api\"\ntier=\"1\"", "all/token": "token-1-of-default",
		}, []string{"configmap/app", "configmap/more", "secret/none", "secret/unused", `token/shop/default for "vault"`}},
		{[]string{ServiceAccountPath + "/token", ServiceAccountPath + "/namespace"}, map[string]string{ServiceAccountPath[1:] + "/token": "token-1-of-default", ServiceAccountPath[1:] + "/namespace": "shop"}, []string{`token/shop/default for ""`}},
	} {
		r, q := shop(), mounted(tt.wanted...)
		folder := newTestFolder(t)
		q.Folder = folder.Path()
		e, err := Resolve(t.Context(), r, q)
		if err != nil {
			t.Errorf("%s: %v", tt.wanted, err)
			continue
		}
		if err := folder.Write(t.Context(), r, e, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, content(t, folder.Path())); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.wanted, diff)
		}
		if diff := cmp.Diff(tt.reads, r.reads()); diff != "" {
			t.Errorf("%s: read: -want +got\n%s", tt.wanted, diff)
		}
		if v, ok := e.Lookup(FilesVariable); !ok || v.Value() != folder.Path() {
			t.Errorf("%s is %q", v, v.Value())
		}
	}
}

func newTestFolder(t *testing.T) *Folder {
	t.Helper()
	f, err := NewFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Wipe(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// content are the files below a folder, which nobody else can read.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the permissions %v", path, info.Mode())
		}
		if info.IsDir() {
			return nil
		}
		if executable := strings.Contains(path, "/tls/"); (info.Mode().Perm() == 0o700) != executable {
			t.Errorf("%s has the permissions %v", path, info.Mode())
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestFilesRefuse(t *testing.T) {
	t.Parallel()
	for wanted, want := range map[string]string{
		"/srv":     "files /srv: nothing is mounted there",
		"/tmp":     "files /tmp: are on a volume that is neither a ConfigMap, a Secret, the downward API nor projected",
		"/expr":    "files /expr: are mounted by subPathExpr, which is not supported",
		"/bundle":  "files /bundle: are projected from a source that is not supported",
		"/etc/app": "read Secret shop/db: ",
	} {
		r, q := shop(), mounted(wanted)
		q.Folder = "/run/x"
		r.forbidden = map[string]bool{"secret/db": true}
		if _, err := Resolve(t.Context(), r, q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", wanted, err, want)
		}
	}
	q := mounted("/etc/app")
	if _, err := Resolve(t.Context(), shop(), q); err == nil || !strings.Contains(err.Error(), "there is no folder to put files into") {
		t.Error(err)
	}
	// A service account's token is there unless the pod says otherwise.
	q = mounted(ServiceAccountPath)
	q.Folder, q.Pod.Spec.AutomountServiceAccountToken = "/run/x", new(bool)
	if _, err := Resolve(t.Context(), shop(), q); err == nil || !strings.Contains(err.Error(), "nothing is mounted there") {
		t.Error(err)
	}
	// A path that would leave the folder is refused, whoever wrote it.
	q = mounted("/etc/app")
	q.Folder, q.Pod.Spec.Volumes[1].Secret.Items[0].Path = "/run/x", "../x"
	if _, err := Resolve(t.Context(), shop(), q); err == nil || !strings.Contains(err.Error(), "leaves the volume") {
		t.Error(err)
	}
}

// Variables tell where the files are: in the place of their path in the container, or
// as they are named.
func TestFilesAreTold(t *testing.T) {
	t.Parallel()
	q := mounted()
	q.Folder = "/run/x"
	q.Pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "CONFIG", Value: "file:///etc/app/MODE"}, {Name: "OTHER", Value: "/srv"}}
	q.Run.Env = []string{"*"}
	q.Run.Files = []catalogue.RunFiles{{Path: "/etc/app", Env: []string{"CONFIG", "APP_DIR"}}}
	e, err := Resolve(t.Context(), shop(), q)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"CONFIG": "file:///run/x/etc/app/MODE", "APP_DIR": "/run/x/etc/app", "OTHER": "/srv", FilesVariable: "/run/x"}
	if diff := cmp.Diff(want, environ(e)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	q.Run.Files[0].Env = []string{"OTHER"}
	if _, err := Resolve(t.Context(), shop(), q); err == nil || !strings.Contains(err.Error(), "files /etc/app: variable OTHER (the manifest) does not have that path") {
		t.Error(err)
	}
}
