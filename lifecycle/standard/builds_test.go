package standard_test

import (
	"os"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

func TestBuildsWhatThereIsABuilderFor(t *testing.T) {
	t.Parallel()
	target := standard.Target{Name: "dev", Namespace: "pharos", Overlay: "deploy", Registry: standard.Registry{Push: "localhost:5000/dev", Pull: "localhost:5000/dev"}}
	c, err := standard.Config(target, standard.Options{REST: &rest.Config{Host: "https://127.0.0.1:1"}, Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{catalogue.BuildGo, catalogue.BuildDockerfile, catalogue.BuildFiles} {
		if got, want := standard.Builds(kind), c.Builders[kind] != nil; got != want {
			t.Errorf("%s: %t, and there is a builder: %t", kind, got, want)
		}
	}
}
