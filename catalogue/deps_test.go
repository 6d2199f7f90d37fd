package catalogue

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A program that only asks what has changed links no cluster and no registry
// client.
func TestDependencies(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if or (not .Standard) (eq .ImportPath `net`)}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	if len(packages) < 3 {
		t.Fatalf("go list printed only %v", packages)
	}
	allowed := map[string]string{
		"github.com/pharos-dev/pharos/catalogue":                     "itself",
		"github.com/pharos-dev/pharos/catalogue/dockerfile":          "what a Dockerfile is built on",
		"github.com/pharos-dev/pharos/catalogue/source":              "the trees",
		"github.com/pharos-dev/pharos/catalogue/source/internal/odb": "the trees, as Git stores them",
		"github.com/pharos-dev/pharos/internal/linkerflags":          "which arguments of the linker a recipe may have",
		"github.com/pharos-dev/pharos/internal/joined":               "takes joined errors apart",
		"github.com/pharos-dev/pharos/internal/lazyregexp":           "compiles regular expressions when they are used",
		"github.com/pharos-dev/pharos/internal/strictyaml":           "reads pharos.yaml",
	}
	if slices.Contains(packages, "net") {
		t.Error("the catalogue links net: a fingerprint never depends on what a network answers")
	}
	for _, p := range packages {
		if allowed[p] != "" {
			continue
		}
		for prefix, reason := range map[string]string{
			"k8s.io/":      "Kubernetes' packages are large and none of them says what a tree holds",
			"sigs.k8s.io/": "Kubernetes' packages are large and none of them says what a tree holds",
			"github.com/google/go-containerregistry/": "a fingerprint never depends on what a registry answers",
			"github.com/pharos-dev/pharos/":           "the four core packages do not import each other, nor what stands above them",
		} {
			if strings.HasPrefix(p, prefix) {
				t.Errorf("the catalogue links %s: %s", p, reason)
			}
		}
	}
	const most = 150
	t.Logf("%d packages outside of the standard library:\n%s", len(packages), strings.Join(packages, "\n"))
	if len(packages) > most {
		t.Errorf("the catalogue links %d packages outside of the standard library, and %d were thought enough", len(packages), most)
	}
}
