package job_test

import (
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile/job"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	good := job.Config{
		REST: &rest.Config{Host: "https://localhost"}, Namespace: "pharos", Target: "devbox",
		Pusher: &pushed{}, GitURL: "http://git.example.com/repo.git", Image: image,
	}
	for name, tc := range map[string]struct {
		change func(*job.Config)
		want   []string
	}{
		"all at once": {func(c *job.Config) { *c = job.Config{} }, []string{"REST", "Namespace", "Target", "Pusher", "GitURL", "Image"}},
		"a tag":       {func(c *job.Config) { c.Image = "moby/buildkit:latest" }, []string{"Image", "digest"}},
		"a password":  {func(c *job.Config) { c.GitURL = "http://me:hunter2@git.example.com/repo.git" }, []string{"GitSecret"}},
		"ssh":         {func(c *job.Config) { c.GitURL = "ssh://git@git.example.com/repo.git" }, []string{"smart HTTP"}},
		"malformed":   {func(c *job.Config) { c.GitURL = "http://%zz:hunter2@x" }, []string{"GitURL"}},
		"a quantity":  {func(c *job.Config) { c.Requests = map[string]string{"cpu": "lots"} }, []string{"Requests[cpu]"}},
		"a size":      {func(c *job.Config) { c.Cache.MaxSize = "20 \"\nGB" }, []string{"Cache.MaxSize"}},
		"a name":      {func(c *job.Config) { c.RegistrySecret = "Not A Name" }, []string{"RegistrySecret"}},
		"a time":      {func(c *job.Config) { c.TTL = -1 }, []string{"TTL"}},
	} {
		c := good
		tc.change(&c)
		_, err := job.New(c)
		for _, want := range tc.want {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: error %v, want %q", name, err, want)
			}
		}
	}
	if _, err := job.New(good); err != nil {
		t.Error(err)
	}
}
