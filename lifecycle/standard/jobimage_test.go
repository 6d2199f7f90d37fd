package standard_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// jobTree is a tree whose target builds in Jobs of a spec, with this pharos.lock.
func jobTree(t *testing.T, spec, lock string) source.Tree {
	t.Helper()
	files := map[string]source.File{
		"pharos.yaml": {Content: `apiVersion: pharos.dev/v1alpha1
kind: Catalogue
images:
- name: web
  build: {dockerfile: {}}
  inputs: [Dockerfile]
---
apiVersion: pharos.dev/v1alpha1
kind: Target
metadata: {name: box}
spec:
  registry: {push: "localhost:1/shop"}
  overlay: .
  git: {url: http://git.example.com/repo.git}
  buildkit: {job: ` + spec + `}
`},
		"Dockerfile": {Content: "FROM scratch\nCOPY Dockerfile /\n"},
	}
	if lock != "" {
		files["pharos.lock"] = source.File{Content: lock}
	}
	tree, err := source.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// The image of Jobs is named by digest, or by a tag that pharos.lock pins; one that
// nothing pins is refused before any build, and keeps nothing else from working.
func TestImageOfJobs(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("1", 64)
	lock := func(reference string) string {
		return "apiVersion: pharos.dev/v1alpha1\nkind: Lock\nimages:\n  " + reference + ": " + digest + "\n"
	}
	for name, tc := range map[string]struct {
		spec, lock     string
		pinned, locked string // the latter is what a lock has to hold
	}{
		"the default":          {"{}", lock(standard.DefaultBuildKitImage), standard.DefaultBuildKitImage + "@" + digest, standard.DefaultBuildKitImage},
		"the default, unheld":  {"{}", "", "", standard.DefaultBuildKitImage},
		"a tag":                {"{image: 'example.com/buildkit:v1'}", lock("example.com/buildkit:v1"), "example.com/buildkit:v1@" + digest, "example.com/buildkit:v1"},
		"another tag's digest": {"{image: 'example.com/buildkit:v2'}", lock("example.com/buildkit:v1"), "", "example.com/buildkit:v2"},
		"a digest":             {"{image: 'example.com/buildkit@" + digest + "'}", lock("other:1"), "example.com/buildkit@" + digest, ""},
		"a lock that is none":  {"{}", "what?", "", standard.DefaultBuildKitImage},
	} {
		targets, err := standard.ReadTargets(t.Context(), jobTree(t, tc.spec, tc.lock))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := targets[0].BuildKit.Job.Pinned; got != tc.pinned {
			t.Errorf("%s: pinned is %q, want %q", name, got, tc.pinned)
		}
		want := map[string][]string{}
		if tc.locked != "" {
			want[tc.locked] = []string{"target box"}
		}
		if d := cmp.Diff(want, standard.LockedReferences(targets)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}

	tree := jobTree(t, "{}", "")
	targets, err := standard.ReadTargets(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalogue.Load(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	states, err := c.States(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	config, err := standard.Config(targets[0], standard.Options{REST: &rest.Config{Host: "https://127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	builder := config.Builders[catalogue.BuildDockerfile]
	r := lifecycle.BuildRequest{State: states[0], Full: tree, Repository: "localhost:1/shop/web"}
	_, built := builder.Build(t.Context(), r)
	for _, err := range []error{builder.(lifecycle.Checker).Check(t.Context(), r), built} {
		refused, ok := errors.AsType[*lifecycle.Error](err)
		if !ok || !errors.Is(err, lifecycle.ErrSource) || !strings.Contains(err.Error(), standard.DefaultBuildKitImage) ||
			!strings.Contains(refused.Advice, "Run kubectl pharos lock and commit pharos.lock") {
			t.Errorf("an image that nothing pins: %v", err)
		}
	}
}
