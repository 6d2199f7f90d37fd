package job

import (
	"context"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
	"github.com/pharos-dev/pharos/lifecycle/transport"
)

type noPusher struct{}

func (noPusher) PushInputs(context.Context, source.Tree) (transport.Inputs, error) {
	return transport.Inputs{}, nil
}

// Callers with the same target share a Job. A target that is corrected has another.
func TestNameOfAJob(t *testing.T) {
	t.Parallel()
	name := func(change func(*Config)) string {
		c := Config{
			REST: &rest.Config{Host: "https://localhost"}, Namespace: "pharos", Target: "devbox", Pusher: noPusher{},
			GitURL: "http://git.example.com/repo.git", Image: "registry.example.com/buildkit@" + digest,
			NodeSelector: map[string]string{"disk": "fast", "zone": "a"},
		}
		change(&c)
		b, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		return b.identify(dockerfile.Solve{Image: "api", Fingerprint: digest, Repository: "registry.example.com/api"}).name()
	}
	first := name(func(*Config) {})
	for what, change := range map[string]func(*Config){
		"owner": func(c *Config) { c.Owner = "me@here" },
		"times": func(c *Config) { c.Deadline, c.TTL, c.StartWithin = time.Minute, time.Minute, time.Minute },
		"order": func(c *Config) { c.NodeSelector = map[string]string{"zone": "a", "disk": "fast"} },
	} {
		if got := name(change); got != first {
			t.Errorf("with another %s the name is %s, not %s", what, got, first)
		}
	}
	seen := map[string]string{first: "the first"}
	for what, change := range map[string]func(*Config){
		"image":          func(c *Config) { c.Image = "registry.example.com/moby/buildkit@" + digest },
		"no selector":    func(c *Config) { c.NodeSelector = nil },
		"selector":       func(c *Config) { c.NodeSelector = map[string]string{"disk": "fast"} },
		"claim":          func(c *Config) { c.Cache.Claim = "cache" },
		"requests":       func(c *Config) { c.Requests = map[string]string{"cpu": "1"} },
		"limits":         func(c *Config) { c.Limits = map[string]string{"cpu": "1"} },
		"Git server":     func(c *Config) { c.GitURL = "http://git.example.com/other.git" },
		"Git Secret":     func(c *Config) { c.GitSecret = "s" },
		"build Secret":   func(c *Config) { c.BuildSecret = "s" },
		"SSH Secret":     func(c *Config) { c.SSHSecret = "s" },
		"pull Secret":    func(c *Config) { c.RegistrySecret = "s" },
		"plain HTTP":     func(c *Config) { c.Insecure = true },
		"target":         func(c *Config) { c.Target = "other" },
		"where it pulls": func(c *Config) { c.Pull = "registry.example.net" },
	} {
		got := name(change)
		if other := seen[got]; other != "" {
			t.Errorf("with another %s the name is that of %s", what, other)
		}
		seen[got] = what
	}
}
