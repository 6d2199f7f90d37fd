package ephemeral_test

import (
	"os/exec"
	"strings"
	"testing"
)

// A test harness that only wants a namespace does not link all of a client.
func TestDependencies(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if or (not .Standard) (eq .ImportPath `testing`)}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	t.Logf("%d packages outside of the standard library:\n%s", len(packages), strings.Join(packages, "\n"))
	for _, p := range packages {
		for prefix, reason := range map[string]string{
			"testing":                                "it is no matter of one test framework",
			"sigs.k8s.io/controller-runtime":         "who does not use it need not link it",
			"k8s.io/client-go/kubernetes":            "it registers the types of every API group",
			"k8s.io/client-go/informers":             "a namespace needs no cache",
			"github.com/prometheus/":                 "a test has no metrics",
			"github.com/pharos-dev/pharos/lifecycle": "it is no matter of deliveries",
		} {
			if p == prefix || strings.HasPrefix(p, strings.TrimSuffix(prefix, "/")+"/") {
				t.Errorf("ephemeral links %s: %s", p, reason)
			}
		}
	}
	const most = 130
	if len(packages) < 3 || len(packages) > most {
		t.Errorf("ephemeral links %d packages outside of the standard library, and %d were thought enough", len(packages), most)
	}
}
