package standard_test

import (
	"os"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

func TestBuildsWhatThereIsABuilderFor(t *testing.T) {
	t.Parallel()
	digest := "@sha256:" + strings.Repeat("0", 64)
	for name, buildKit := range map[string]*standard.BuildKit{
		"none": nil, "address": {Address: "tcp://127.0.0.1:1"}, "runner": {Runner: &standard.BuildKitRunner{Address: "unix:///run/none"}},
		"job": {Job: &standard.BuildKitJob{Image: "moby/buildkit" + digest}},
	} {
		target := standard.Target{
			Name: "dev", Namespace: "pharos", Overlay: "deploy", Registry: standard.Registry{Push: "localhost:5000/dev", Pull: "localhost:5000/dev"}, BuildKit: buildKit,
		}
		c, err := standard.Config(target, standard.Options{REST: &rest.Config{Host: "https://127.0.0.1:1"}, Env: os.Environ()})
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{catalogue.BuildGo, catalogue.BuildDockerfile, catalogue.BuildFiles} {
			if got, want := standard.Builds(kind, target), c.Builders[kind] != nil; got != want || !got && (kind != catalogue.BuildDockerfile || name != "none") {
				t.Errorf("BuildKit %s, %s: %t, and there is a builder: %t", name, kind, got, want)
			}
		}
	}
}
