package job_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile/job"
	"github.com/pharos-dev/pharos/lifecycle/transport"
)

// scratch is an image of one file, built on nothing.
func (n *node) scratch() lifecycle.BuildRequest {
	return n.request(web, nil, map[string]string{"web/Dockerfile": "FROM scratch\nCOPY web/a /\n", "web/a": "a"})
}

// What a pod cannot reach, or finds to be another, is said in its own words.
func TestNodeFaults(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change      func(n *node, c *job.Config)
		want        string
		unreachable bool
	}{
		"registry is away": {func(n *node, c *job.Config) { c.Pull = strings.Replace(n.pull, ":5000", ":1", 1) },
			"failed to push", true},
		"no such repository": {func(n *node, c *job.Config) { c.GitURL = n.real.GitURL() + "/none.git" },
			"its inputs could not be fetched from the Git server: fatal: ", true},
		"no such image": {func(n *node, c *job.Config) { c.Image = n.real.PullRegistry() + "/none@" + string(digest) },
			"ImagePullBackOff", true},
		"another's inputs": {anothersInputs, "and not", false},
		"no such key": {func(n *node, c *job.Config) {
			n.secret("git", "other", "x")
			c.GitSecret, c.StartWithin = "git", 10*time.Second
		}, "references non-existent secret key: credentials", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := onNode(t)
			c := n.config()
			tc.change(n, &c)
			_, err := n.builder(c).Build(t.Context(), n.scratch())
			var failed *lifecycle.Error
			if !errors.As(err, &failed) || !strings.Contains(err.Error(), tc.want) || failed.Advice == "" {
				t.Errorf("error %v, want %q and what to do", err, tc.want)
			}
			if errors.Is(err, lifecycle.ErrUnreachable) != tc.unreachable || errors.Is(err, lifecycle.ErrSource) {
				t.Errorf("the class of %v", err)
			}
		})
	}
}

// anothersInputs has pods fetch from a repository in which the reference names another
// commit.
func anothersInputs(n *node, c *job.Config) {
	n.t.Helper()
	dir := n.t.TempDir()
	ref := transport.InputsRef(n.scratch().State.Inputs.ID)
	for _, args := range [][]string{{"init", "-q"}, {"commit", "-q", "--allow-empty", "-m", "x"}, {"push", "-q", n.real.GitPush() + "/other-" + n.git, "HEAD:" + ref}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
		if out, err := cmd.CombinedOutput(); err != nil {
			n.t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	c.GitURL = n.real.GitURL() + "/other-" + n.git
}

// Jobs that share a volume use what earlier ones have done, and those of one image
// wait for each other.
func TestNodeSharedCache(t *testing.T) {
	t.Parallel()
	n := onNode(t)
	base, digest := n.base()
	c := n.config()
	c.Cache = job.Cache{Claim: "buildkit", MaxSize: "5GB"}
	n.volume("buildkit")
	request := func(word string) (lifecycle.BuildRequest, *bytes.Buffer) {
		r := n.request(web, map[string]string{base: digest}, map[string]string{
			"web/Dockerfile": "FROM " + base + "\nRUN echo once >/once\nCOPY web/word /\n", "web/word": word})
		printed := &bytes.Buffer{}
		r.Output = printed
		return r, printed
	}
	r, _ := request("one")
	if _, err := n.builder(c).Build(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, word := range []string{"two", "three"} {
		r, printed := request(word)
		wg.Go(func() {
			if _, err := n.builder(c).Build(t.Context(), r); err != nil {
				t.Error(err)
			}
			if text := printed.String(); !strings.Contains(text, "CACHED") {
				t.Errorf("%s: printed:\n%s", word, text)
			}
		})
	}
	wg.Wait()
}

// volume makes a claim on a folder of this machine, on which the node runs.
func (n *node) volume(name string) {
	n.t.Helper()
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	class, modes := "", []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	_, err := n.client.CoreV1().PersistentVolumes().Create(n.t.Context(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: n.namespace},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, StorageClassName: class,
			ClaimRef:               &corev1.ObjectReference{Namespace: n.namespace, Name: name},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: n.t.TempDir()}},
		},
	}, metav1.CreateOptions{})
	if err == nil {
		_, err = n.client.CoreV1().PersistentVolumeClaims(n.namespace).Create(n.t.Context(), &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeClaimSpec{AccessModes: modes, StorageClassName: &class, VolumeName: n.namespace,
				Resources: corev1.VolumeResourceRequirements{Requests: size}},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		n.t.Fatal(err)
	}
}
