package devenv_test

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

func TestKubectlIsTheServersVersion(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	kubectl, err := devenv.Kubectl(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), kubectl, "version", "-o", "json", "--kubeconfig", c.Kubeconfig(), "--context", c.ContextName()).Output()
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		ClientVersion, ServerVersion struct{ GitVersion, Major, Minor string }
	}
	if err := json.Unmarshal(out, &v); err != nil {
		t.Fatal(err)
	}
	if v.ClientVersion != v.ServerVersion || v.ServerVersion.Major != "1" || v.ServerVersion.Minor == "" {
		t.Errorf("got client %+v and server %+v", v.ClientVersion, v.ServerVersion)
	}
}
