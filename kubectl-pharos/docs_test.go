package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// The examples of the page on pharos.yaml, put together, are one that is read.
func TestPharosYAMLPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/pharos-yaml.md")
	if err != nil {
		t.Fatal(err)
	}
	var images, targets string
	for _, block := range codeBlock.FindAllStringSubmatch(strings.ReplaceAll(string(page), "sha256:…", "sha256:"+strings.Repeat("0", 64)), -1) {
		switch code := block[2]; {
		case strings.Contains(code, "kind: Catalogue\n"):
			begin, rest, _ := strings.Cut(code, "delivery:")
			images, targets = begin+images, "delivery:"+rest+"---\n"+targets
		case strings.HasPrefix(code, "apiVersion: pharos.dev/"):
			targets += code
		case strings.HasPrefix(code, "- name: ") && strings.Contains(code, "  build:"):
			images += code
		}
	}
	yaml := []byte(images + targets)
	c, err := catalogue.Parse("page", yaml)
	if err != nil {
		t.Fatalf("%v\n%s", err, yaml)
	}
	kinds := map[string]bool{}
	for _, image := range c.Images {
		kinds[image.Build.Kind()] = true
		kinds["run"] = kinds["run"] || image.Run != nil
	}
	if found, err := standard.ParseTargets("page", yaml); err != nil || len(found) != 1 || len(kinds) != 4 || !kinds["run"] {
		t.Errorf("the page has the targets %v, %v, and shows %v", found, err, kinds)
	}
}

// The page on rights that errors name is there.
func TestRightsPage(t *testing.T) {
	t.Parallel()
	path, ok := strings.CutPrefix(kubeclient.RightsPage, "https://github.com/pharos-dev/pharos/blob/main/")
	path, anchor, _ := strings.Cut(path, "#")
	page, err := os.ReadFile(filepath.Join("..", path))
	if err != nil || !ok || !strings.Contains(strings.ToLower(string(page)), "\n## "+anchor+"\n") {
		t.Errorf("%s does not lead to a chapter: %v", kubeclient.RightsPage, err)
	}
}

var codeBlock = regexp.MustCompile("(?ms)^```(yaml|dockerfile|sh)\n(.*?)^```$")

// The commands of the page on fingerprints, run one after the other, give by
// hand what the plugin gives.
func TestFingerprintsByHand(t *testing.T) {
	t.Parallel()
	for toolchain, lines := range map[string]string{
		"go1.26.8": "go 1.26\n\ntoolchain go1.26.8\n", "go1.26.7": "go 1.26.7\n", "go1.26": "go 1.26\n",
	} {
		t.Run(toolchain, func(t *testing.T) {
			t.Parallel()
			fingerprintsByHand(t, lines, toolchain)
		})
	}
}

func fingerprintsByHand(t *testing.T, lines, toolchain string) {
	page, err := os.ReadFile("../docs/fingerprints.md")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"go.mod":                    "module shop.example\n\n" + lines,
		"services/api/main.go":      "package main\n\nfunc main() {}\n",
		"services/api/main_test.go": "package main\n",
		"web/index.html":            "<h1>Shop</h1>\n",
		"README.md":                 "# Shop\n",
	}
	script := "set -e\nkubectl() { shift; " + program + " \"$@\"; }\ngit init -q -b main\ngit add -A\ngit commit -q -m one\n"
	for _, block := range codeBlock.FindAllStringSubmatch(string(page), -1) {
		switch code := block[2]; {
		case block[1] == "sh":
			script += code
		case block[1] == "dockerfile":
			files["web/Dockerfile"] += code
		case strings.Contains(code, "kind: Lock\n"):
			files["pharos.lock"] += code
		default: // a catalogue, and more of its images
			files["pharos.yaml"] += code
		}
	}
	if strings.Contains(lines, "toolchain ") { // as the page has it
		script += "kubectl pharos images --check >check 2>&1 || { cat check; exit 1; }\n"
	}
	dir := t.TempDir()
	for name, content := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "KUBECONFIG="+filepath.Join(dir, "none"), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Shop", "GIT_AUTHOR_EMAIL=shop@example.com", "GIT_COMMITTER_NAME=Shop", "GIT_COMMITTER_EMAIL=shop@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	columns := regexp.MustCompile(`(?m)^api +go +2 +sha256:([0-9a-f]{64}) +([0-9a-f]{40})$`).FindStringSubmatch(string(out))
	web := regexp.MustCompile(`(?m)^web +dockerfile +2 +sha256:([0-9a-f]{64}) `).FindStringSubmatch(string(out))
	if columns == nil || web == nil {
		t.Fatalf("the first command gives\n%s", out)
	}
	byHand := "go.mod\nservices/api/main.go\n" + columns[2] + "\n"
	if rest := strings.Split(string(out), byHand); len(rest) != 2 {
		t.Errorf("the pruned tree is not %s in\n%s", columns[2], out)
	}
	for _, fingerprint := range []string{columns[1], web[1]} {
		if !strings.Contains(string(out), "\n"+fingerprint+"  -\n") {
			t.Errorf("%s is not computed by hand in\n%s", fingerprint, out)
		}
	}
	if !strings.Contains(string(out), "go.toolchain "+toolchain+"\nplatform.0000 linux/amd64\ntree "+columns[2]+"\n") {
		t.Errorf("the fields are not shown in\n%s", out)
	}
	if n := strings.Count(string(out), "sha256:"+columns[1]); n != 2 {
		t.Errorf("the working tree, which is the commit, has another fingerprint in\n%s", out)
	}
	if whole, err := exec.CommandContext(t.Context(), "git", "-C", dir, "rev-parse", "HEAD^{tree}").Output(); err != nil || !strings.HasSuffix(string(out), "\n"+string(whole)) {
		t.Errorf("the tree of the working tree is not that of the commit, %s (%v), in\n%s", whole, err, out)
	}
}
