package standard_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// What Jobs would not get is refused before anything is built, and is what other
// BuildKits are given.
func TestSecretsForJobs(t *testing.T) {
	t.Parallel()
	image := "moby/buildkit@sha256:" + strings.Repeat("0", 64)
	jobs := &standard.BuildKit{Job: &standard.BuildKitJob{Image: image, BuildSecret: "builds", SSHSecret: "keys"}}
	secrets := map[string]func(context.Context) ([]byte, error){
		"npmrc": func(context.Context) ([]byte, error) { return []byte("hunter2"), nil },
	}
	agents := map[string]string{"default": "/run/agent.sock"}
	for name, tc := range map[string]struct {
		buildkit *standard.BuildKit
		options  standard.Options
		want     []string // of the error, nil for none
	}{
		"none":               {jobs, standard.Options{Secrets: map[string]func(context.Context) ([]byte, error){}}, nil},
		"secrets":            {jobs, standard.Options{Secrets: secrets}, []string{"build secrets (npmrc)", "in spec.buildkit.job.buildSecret of the target", "namespace boxes"}},
		"agents":             {jobs, standard.Options{SSH: agents}, []string{"SSH agents (default)", "in spec.buildkit.job.sshSecret of the target"}},
		"both":               {jobs, standard.Options{Secrets: secrets, SSH: agents}, []string{"(npmrc) and SSH agents (default)", "buildSecret and spec.buildkit.job.sshSecret"}},
		"both at an address": {&standard.BuildKit{Address: "tcp://127.0.0.1:1234"}, standard.Options{Secrets: secrets, SSH: agents}, nil},
	} {
		target := standard.Target{
			Name: "box", Namespace: "boxes", Overlay: ".", Registry: standard.Registry{Push: "localhost:5000", Pull: "localhost:5000"},
			Deliver: standard.Deliver{Apply: &standard.ApplyDeliver{}}, BuildKit: tc.buildkit,
			Git: &standard.Git{URL: "http://git.example.com/repo.git", Push: "http://git.example.com/repo.git"},
		}
		tc.options.REST = &rest.Config{Host: "https://127.0.0.1:1"}
		_, err := standard.New(target, tc.options)
		if tc.want == nil {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var refused *lifecycle.Error
		if !errors.As(err, &refused) {
			t.Errorf("%s: error %v, want that it is refused", name, err)
			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(refused.Error()+"\n"+refused.Advice, want) {
				t.Errorf("%s: %v: %s does not say %q", name, err, refused.Advice, want)
			}
		}
	}
}
