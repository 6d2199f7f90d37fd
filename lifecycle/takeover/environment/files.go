package environment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// File is a mounted file of the container. Its content is shown by nothing: see Var.
type File struct {
	// Path is where it is in the container, an absolute path.
	Path string
	// From says where the content comes from, such as "Secret shop/tls, key tls.key".
	From string
	// Secret says that it is from a Secret.
	Secret bool
	// Mode has the owner's permissions.
	Mode fs.FileMode
	data hidden
}

// String returns the file's path and where its content comes from.
func (f File) String() string { return fmt.Sprintf("%s (%s)", f.Path, f.From) }

// Format implements fmt.Formatter, for every verb.
func (f File) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, f.String()) }

// MarshalJSON implements json.Marshaler: the content is not in it.
func (f File) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Path   string `json:"path"`
		From   string `json:"from"`
		Secret bool   `json:"secret,omitempty"`
	}{f.Path, f.From, f.Secret})
}

// LogValue implements slog.LogValuer.
func (f File) LogValue() slog.Value { return slog.StringValue(f.String()) }

// tokenFile is a file with a token of a service account, which is asked for when the
// file is written.
type tokenFile struct {
	path           string
	namespace      string
	serviceAccount string
	audience       string
}

// fileSet are the files that were asked for.
type fileSet struct {
	files  []File
	tokens []tokenFile
}

// local returns where a path of the container is below a folder.
func (*fileSet) local(folder, at string) string { return localPath(folder, at) }

// localPath returns where a path of the container is below a folder.
func localPath(folder, at string) string {
	return filepath.Join(folder, filepath.FromSlash(path.Clean("/"+at)))
}

// within says whether a path is a folder or below it.
func within(at, folder string) bool {
	return at == folder || folder == "/" || strings.HasPrefix(at, folder+"/")
}

// ServiceAccountPath is where a container has its service account's token.
const ServiceAccountPath = "/var/run/secrets/kubernetes.io/serviceaccount"

// files returns the files that Run.Files names.
func (c *container) files(ctx context.Context) (*fileSet, error) {
	set := &fileSet{}
	if len(c.Run.Files) == 0 {
		return set, nil
	}
	if c.Folder == "" {
		return set, errors.New("run.files: there is no folder to put files into")
	}
	mounts, volumes := c.mounts()
	var errs []error
	used := map[int]bool{}
	for _, f := range c.Run.Files {
		found := mountsOf(f.Path, mounts)
		if len(found) == 0 {
			errs = append(errs, fmt.Errorf("files %s: nothing is mounted there", f.Path))
		}
		for _, i := range found {
			used[i] = true
		}
	}
	for i, m := range mounts {
		if used[i] {
			errs = append(errs, c.mounted(ctx, set, m, volumes[m.Name], mounts))
		}
	}
	slices.SortFunc(set.files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(set.tokens, func(a, b tokenFile) int { return strings.Compare(a.path, b.path) })
	return set, joinOnce(errs)
}

// mounts returns what is mounted in the container. Its service account's token is
// mounted by admission, and not in the template.
func (c *container) mounts() ([]corev1.VolumeMount, map[string]corev1.Volume) {
	volumes := map[string]corev1.Volume{}
	for _, v := range c.Pod.Spec.Volumes {
		volumes[v.Name] = v
	}
	mounts := slices.Clone(c.spec.VolumeMounts)
	for i := range mounts {
		mounts[i].MountPath = path.Clean("/" + mounts[i].MountPath)
	}
	isToken := func(m corev1.VolumeMount) bool { return m.MountPath == ServiceAccountPath }
	automount := c.Pod.Spec.AutomountServiceAccountToken
	if slices.ContainsFunc(mounts, isToken) || automount != nil && !*automount {
		return mounts, volumes
	}
	const name = "\x00service account" // which no volume has
	volumes[name] = corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: corev1.ServiceAccountTokenKey}},
		{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
			Items:                []corev1.KeyToPath{{Key: corev1.ServiceAccountRootCAKey, Path: corev1.ServiceAccountRootCAKey}},
		}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
			{Path: corev1.ServiceAccountNamespaceKey, FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}},
		}}},
	}}}}
	return append(mounts, corev1.VolumeMount{Name: name, MountPath: ServiceAccountPath}), volumes
}

// mountsOf returns the mounts that a path is in, of which the deepest counts, or has
// in it.
func mountsOf(at string, mounts []corev1.VolumeMount) []int {
	deepest := -1
	var list []int
	for i, m := range mounts {
		switch {
		case m.MountPath != at && within(m.MountPath, at):
			list = append(list, i)
		case within(at, m.MountPath) && (deepest < 0 || len(m.MountPath) >= len(mounts[deepest].MountPath)):
			deepest = i
		}
	}
	if deepest >= 0 {
		list = append(list, deepest)
	}
	return list
}

// mounted adds the wanted files of a mount.
func (c *container) mounted(ctx context.Context, set *fileSet, m corev1.VolumeMount, v corev1.Volume, all []corev1.VolumeMount) error {
	fail := func(reason string, args ...any) error {
		return fmt.Errorf("files %s: "+reason, append([]any{m.MountPath}, args...)...)
	}
	if m.SubPathExpr != "" {
		return fail("are mounted by subPathExpr, which is not supported")
	}
	p := &projection{container: c, set: set}
	p.place = func(inVolume string) (string, bool) {
		rest := path.Clean(inVolume)
		if sub := path.Clean(m.SubPath); m.SubPath != "" {
			if !within(rest, sub) {
				return "", false
			}
			rest = strings.TrimPrefix(rest, sub)
		}
		at := path.Join(m.MountPath, rest)
		hidden := slices.ContainsFunc(all, func(o corev1.VolumeMount) bool {
			return len(o.MountPath) > len(m.MountPath) && within(at, o.MountPath)
		})
		wanted := slices.ContainsFunc(c.Run.Files, func(f runFiles) bool { return within(at, f.Path) })
		return at, wanted && !hidden
	}
	if err := p.volume(ctx, v.VolumeSource); err != nil {
		return fail("%w", err)
	}
	return nil
}

// tokenLifetime is what tokens are asked for: the shortest that an API server gives.
const tokenLifetime = 10 * time.Minute
