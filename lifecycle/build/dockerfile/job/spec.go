package job

import (
	"bytes"
	_ "embed" // for the scripts
	"encoding/csv"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
	"github.com/pharos-dev/pharos/lifecycle/transport"
)

// The containers of a Job's pod.
const (
	containerBuildKit = "buildkitd"
	containerInputs   = "inputs"
	containerBuild    = "build"
)

// The scripts are the same for all builds. What differs they are given as arguments
// and in the environment, so that no shell reads it as anything but a value.
var (
	//go:embed buildkitd.sh
	buildkitdScript string
	//go:embed inputs.sh
	inputsScript string
	//go:embed build.sh
	buildScript string
	//go:embed mask.awk
	maskProgram string
)

// nobody is the user and group of containers without rights.
const nobody = 65532

// Where things are in the pod.
const (
	cacheDir   = "/var/lib/buildkit"
	socketDir  = "/run/buildkit"
	dockerDir  = "/run/pharos/docker"
	secretsDir = "/run/pharos/secrets"
	sshDir     = "/run/pharos/ssh"
	gitDir     = "/run/pharos/git"
)

// spec is the Job that builds an image. The Solve is as pods see it.
func (b *Backend) spec(id identity, s dockerfile.Solve, in transport.Inputs, writeID string) *batchv1.Job {
	annotations := map[string]string{
		keys.Fingerprint:     string(id.fingerprint),
		keys.BuildRepository: id.repository,
		keys.Inputs:          string(in.Tree),
		keys.WriteID:         writeID,
	}
	if b.config.Owner != "" {
		annotations[keys.Owner] = b.config.Owner
	}
	podAnnotations := maps.Clone(annotations)
	delete(podAnnotations, keys.WriteID)
	maps.Copy(podAnnotations, b.config.PodAnnotations)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.config.Namespace, Name: id.name(), Labels: id.labels(), Annotations: annotations},
		Spec: batchv1.JobSpec{
			// What fails once fails again: the inputs are the same.
			BackoffLimit:            ptr.To(int32(0)),
			ActiveDeadlineSeconds:   ptr.To(seconds(b.config.Deadline)),
			TTLSecondsAfterFinished: ptr.To(int32(seconds(b.config.TTL))),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: id.labels(), Annotations: podAnnotations},
				Spec:       b.pod(id, s, in),
			},
		},
	}
}

func (b *Backend) pod(id identity, s dockerfile.Solve, in transport.Inputs) corev1.PodSpec {
	pod := corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyNever,
		AutomountServiceAccountToken:  ptr.To(false),
		EnableServiceLinks:            ptr.To(false),
		TerminationGracePeriodSeconds: ptr.To(int64(10)),
		NodeSelector:                  b.config.NodeSelector,
		InitContainers:                []corev1.Container{b.buildkitd(id), b.inputs(in)},
		Containers:                    []corev1.Container{b.build(s)},
		Volumes:                       b.volumes(s),
	}
	if b.config.RegistrySecret != "" {
		pod.ImagePullSecrets = []corev1.LocalObjectReference{{Name: b.config.RegistrySecret}}
	}
	return pod
}

// buildkitd runs as long as the pod does.
func (b *Backend) buildkitd(id identity) corev1.Container {
	shared := ""
	if b.config.Cache.Claim != "" {
		shared = "yes"
	}
	return corev1.Container{
		Name: containerBuildKit, Image: b.config.Image,
		Command:       script(buildkitdScript, containerBuildKit),
		Args:          literal(path.Join(cacheDir, id.folder())),
		Env:           environment("SHARED", shared, "CONFIG", b.settings(), "GROUP", strconv.Itoa(nobody)),
		RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
		Resources:     corev1.ResourceRequirements{Requests: quantities(b.config.Requests), Limits: quantities(b.config.Limits)},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "cache", MountPath: cacheDir},
			{Name: "socket", MountPath: socketDir},
		},
		SecurityContext:          &corev1.SecurityContext{Privileged: ptr.To(true)},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// settings are those of BuildKit, in TOML.
func (b *Backend) settings() string {
	var t strings.Builder
	t.WriteString("[worker.containerd]\n  enabled = false\n[worker.oci]\n  enabled = true\n")
	if b.config.Cache.MaxSize != "" {
		fmt.Fprintf(&t, "  maxUsedSpace = %q\n", b.config.Cache.MaxSize)
	}
	if b.config.Insecure {
		fmt.Fprintf(&t, "[registry.%q]\n  http = true\n", host(b.config.Pull))
	}
	return t.String()
}

func (b *Backend) inputs(in transport.Inputs) corev1.Container {
	format, helper := "sha1", ""
	if len(in.Tree) == 64 {
		format = "sha256"
	}
	c := corev1.Container{
		Name: containerInputs, Image: b.config.Image,
		Command:                  script(inputsScript, containerInputs),
		Args:                     literal(b.config.GitURL, in.Ref, string(in.Commit), string(in.Tree), format),
		Resources:                small,
		VolumeMounts:             []corev1.VolumeMount{{Name: "inputs", MountPath: "/inputs"}, {Name: "tmp", MountPath: "/tmp"}},
		SecurityContext:          confined(),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	if b.config.GitSecret != "" {
		helper = "store --file=" + gitDir + "/credentials"
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "git", MountPath: gitDir, ReadOnly: true})
	}
	c.Env = environment("HOME", "/tmp", "GIT_CONFIG_NOSYSTEM", "1", "GIT_CONFIG_GLOBAL", "/dev/null",
		"GIT_TERMINAL_PROMPT", "0", "GIT_ALLOW_PROTOCOL", "http:https", "HELPER", helper)
	return c
}

func (b *Backend) build(s dockerfile.Solve) corev1.Container {
	frontend, attributes := s.Attributes()
	exporter := s.Exporter("") // the script adds the version
	exporter["type"] = "image"
	if b.config.Insecure && host(s.Repository) == host(b.config.Pull) {
		exporter["registry.insecure"] = strconv.FormatBool(true)
	}
	args := []string{fields(exporter), "--frontend=" + frontend}
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		args = append(args, "--opt="+key+"="+attributes[key])
	}
	c := corev1.Container{
		Name: containerBuild, Image: b.config.Image,
		Command:   script(buildScript, containerBuild),
		Resources: small,
		VolumeMounts: []corev1.VolumeMount{
			{Name: "inputs", MountPath: "/inputs", ReadOnly: true},
			{Name: "socket", MountPath: socketDir, ReadOnly: true},
			{Name: "tmp", MountPath: "/tmp"},
		},
		SecurityContext:          confined(),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	env := []string{"HOME", "/tmp", "BUILDKIT_HOST", "unix://" + socketDir + "/buildkitd.sock", "POLICY", string(s.Policy), "MASK", maskProgram}
	if b.config.RegistrySecret != "" {
		env = append(env, "DOCKER_CONFIG", dockerDir)
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "docker", MountPath: dockerDir, ReadOnly: true})
	}
	for _, id := range s.Secrets {
		args = append(args, "--secret="+fields(map[string]string{"id": id, "src": path.Join(secretsDir, id)}))
	}
	if len(s.Secrets) > 0 {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "secrets", MountPath: secretsDir, ReadOnly: true})
	}
	for _, id := range s.SSH {
		args = append(args, "--ssh="+id+"="+path.Join(sshDir, id))
	}
	if len(s.SSH) > 0 {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "ssh", MountPath: sshDir, ReadOnly: true})
	}
	c.Args, c.Env = literal(args...), environment(env...)
	return c
}

func (b *Backend) volumes(s dockerfile.Solve) []corev1.Volume {
	cache := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	if b.config.Cache.Claim != "" {
		cache = corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: b.config.Cache.Claim}}
	}
	volumes := []corev1.Volume{{Name: "cache", VolumeSource: cache}}
	for _, name := range []string{"inputs", "socket", "tmp"} {
		volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	}
	if b.config.RegistrySecret != "" {
		volumes = append(volumes, secret("docker", b.config.RegistrySecret, map[string]string{corev1.DockerConfigJsonKey: "config.json"}))
	}
	if b.config.GitSecret != "" {
		volumes = append(volumes, secret("git", b.config.GitSecret, map[string]string{"credentials": "credentials"}))
	}
	if len(s.Secrets) > 0 {
		volumes = append(volumes, secret("secrets", b.config.BuildSecret, same(s.Secrets)))
	}
	if len(s.SSH) > 0 {
		volumes = append(volumes, secret("ssh", b.config.SSHSecret, same(s.SSH)))
	}
	return volumes
}

// secret mounts those keys of a Secret. Whoever can read them in a container is
// decided by what is mounted there: its containers have different users.
func secret(volume, name string, items map[string]string) corev1.Volume {
	source := &corev1.SecretVolumeSource{SecretName: name, DefaultMode: ptr.To(int32(0o444))}
	for _, key := range slices.Sorted(maps.Keys(items)) {
		source.Items = append(source.Items, corev1.KeyToPath{Key: key, Path: items[key]})
	}
	return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{Secret: source}}
}

func same(names []string) map[string]string {
	m := map[string]string{}
	for _, name := range names {
		m[name] = name
	}
	return m
}

// confined is the security context of what needs no rights.
func confined() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To(int64(nobody)), RunAsGroup: ptr.To(int64(nobody)),
		AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
		Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

// small is what the containers beside BuildKit request.
var small = corev1.ResourceRequirements{Requests: corev1.ResourceList{
	corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi"),
}}

func quantities(of map[string]string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, quantity := range of {
		list[corev1.ResourceName(name)] = resource.MustParse(quantity) // check has parsed it
	}
	return list
}

// script runs a shell script; name is what its messages begin with.
func script(text, name string) []string { return []string{"sh", "-c", escape(text), name} }

// literal keeps Kubernetes from replacing what looks like $(VARIABLE).
func literal(values ...string) []string {
	escaped := make([]string, len(values))
	for i, v := range values {
		escaped[i] = escape(v)
	}
	return escaped
}

func escape(value string) string { return strings.ReplaceAll(value, "$", "$$") }

// environment makes variables of names and values.
func environment(pairs ...string) []corev1.EnvVar {
	var env []corev1.EnvVar
	for i := 0; i+1 < len(pairs); i += 2 {
		env = append(env, corev1.EnvVar{Name: pairs[i], Value: escape(pairs[i+1])})
	}
	return env
}

// fields writes attributes as buildctl takes them, "type=image,name=…": a line of
// CSV, in which a field with a comma or a quote is quoted.
func fields(attributes map[string]string) string {
	var record []string
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		record = append(record, key+"="+attributes[key])
	}
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	_ = w.Write(record) // a bytes.Buffer takes everything
	w.Flush()
	return strings.TrimSuffix(out.String(), "\n")
}
