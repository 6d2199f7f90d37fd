package detect_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/detect"
	"github.com/pharos-dev/pharos/catalogue/gopackage"
	"github.com/pharos-dev/pharos/catalogue/source"
)

// shop has a service that manifests name and two overlays.
func shop() map[string]source.File {
	files := map[string]source.File{}
	for name, content := range map[string]string{
		"api/Dockerfile":                "FROM scratch\nCOPY api /\n",
		"web/Dockerfile":                "FROM scratch\nCOPY web /\n",
		"base/kustomization.yaml":       "resources: [x.yaml]\n",
		"base/x.yaml":                   "kind: Pod\nspec: {containers: [{image: \"shop-api:1\"}]}\n",
		"overlays/a/kustomization.yaml": "resources: [../../base]\nimages: [{name: shop-api, newName: registry.example/team/shop-api}]\n",
		"overlays/b/kustomization.yaml": "resources: [../../base]\n",
	} {
		files[name] = source.File{Content: content}
	}
	return files
}

func TestExplicitWinsOverManifestWinsOverFolder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options detect.Options
		images  []string
		targets []string
		text    []string // stands in the file
	}{
		"nothing asked for": {
			images:  []string{"shop-api api/Dockerfile the one in base/x.yaml", "web web/Dockerfile a guess from the folder's name; no kustomization names such an image"},
			targets: []string{"app-a", "app-b"},
			text:    []string{"push: registry.example/team\n", "push: registry.invalid/app\n"},
		},
		"names": {
			options: detect.Options{Names: map[string]string{"./api": "one", "web/Dockerfile": "two"}},
			images:  []string{"one api/Dockerfile as asked for", "two web/Dockerfile as asked for"},
			targets: []string{"app-a", "app-b"},
		},
		"a name that a manifest has for another": {
			options: detect.Options{Names: map[string]string{"web": "shop-api"}},
			images:  []string{"api api/Dockerfile a guess from the folder's name; no kustomization names such an image", "shop-api web/Dockerfile as asked for"},
			targets: []string{"app-a", "app-b"},
		},
		"a target": {
			options: detect.Options{Overlay: "overlays/a/", Registry: "registry.example:5000/mine", Context: "kind-dev", Target: "devbox"},
			images:  []string{"shop-api api/Dockerfile the one in base/x.yaml", "web web/Dockerfile a guess from the folder's name; no kustomization names such an image"},
			targets: []string{"devbox"},
			text:    []string{"context: kind-dev\n", "push: registry.example:5000/mine\n", "overlay: overlays/a\n"},
		},
		"a base as the overlay": {
			options: detect.Options{Overlay: "base", Repository: "My Shop"},
			images:  []string{"shop-api api/Dockerfile the one in base/x.yaml", "web web/Dockerfile a guess from the folder's name; no kustomization names such an image"},
			targets: []string{"my-shop-base"},
			text:    []string{"push: registry.invalid/my-shop\n"},
		},
	} {
		found := look(t, shop(), c.options)
		var images []string
		for _, i := range found.Images {
			images = append(images, i.Name+" "+i.Path+" "+i.Why)
		}
		if d := cmp.Diff(c.images, images); d != "" {
			t.Errorf("%s: (-want +got)\n%s", name, d)
		}
		if d := cmp.Diff(c.targets, found.Targets); d != "" {
			t.Errorf("%s: (-want +got)\n%s", name, d)
		}
		for _, text := range c.text {
			if !strings.Contains(string(found.YAML), text) {
				t.Errorf("%s: %q is not in\n%s", name, text, found.YAML)
			}
		}
		checkIts(t, shop(), found)
	}
}

func TestOptionsThatDoNotFit(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]detect.Options{
		"the name x is for gone, where there is no Go program and no Dockerfile; found: api/Dockerfile, web/Dockerfile": {Names: map[string]string{"gone": "x"}},
		`"X" is no name of an image`: {Names: map[string]string{"api": "X"}},
		"the name x is given twice":  {Names: map[string]string{"api": "x", "web": "x"}},
		"the overlay gone has no kustomization; found: base, overlays/a, overlays/b": {Overlay: "gone"},
		"a context or a name is for one target, and there are 2: choose an overlay":  {Context: "dev"},
	} {
		_, err := detect.Detect(t.Context(), tree(t, shop()), o)
		if !errors.Is(err, detect.ErrOption) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

func TestWithoutGo(t *testing.T) {
	t.Parallel()
	files := shop()
	files["go.mod"] = source.File{Content: "module shop.example\n"}
	files["main.go"] = source.File{Content: "package main\n"}
	found := look(t, files, detect.Options{Go: gopackage.Config{Env: []string{"PATH=" + t.TempDir()}, TempDir: t.TempDir()}})
	if len(found.Images) != 2 || !slices.ContainsFunc(found.Notes, func(note string) bool { return strings.Contains(note, "there is no go command") }) {
		t.Errorf("images %v, notes %v", found.Images, found.Notes)
	}
}

func TestEndsWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := detect.Detect(ctx, tree(t, shop()), options(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Each directory of this tree holds the one below it ten times: a few kilobytes
// stand for more files than there can be.
func TestRefusesATreeThatNeverEnds(t *testing.T) {
	t.Parallel()
	m := source.NewMemory()
	at, err := m.PutTree([]source.Entry{{Name: "f", Mode: source.ModeFile, ID: m.PutBlob(nil)}})
	if err != nil {
		t.Fatal(err)
	}
	for range 12 {
		var entries []source.Entry
		for name := 'a'; name <= 'j'; name++ {
			entries = append(entries, source.Entry{Name: string(name), Mode: source.ModeDir, ID: at})
		}
		if at, err = m.PutTree(entries); err != nil {
			t.Fatal(err)
		}
	}
	_, err = detect.Detect(t.Context(), source.Tree{ID: at, Objects: m}, options(t))
	if _, ok := errors.AsType[*catalogue.TooLargeError](err); !ok {
		t.Errorf("got %v", err)
	}
}

// The project's own repository, without its own pharos.yaml.
func TestOwnRepository(t *testing.T) {
	t.Parallel()
	whole, err := source.FromFiles(ownFiles(t))
	if err != nil {
		t.Fatal(err)
	}
	found, err := detect.Detect(t.Context(), whole, options(t))
	if err != nil {
		t.Fatal(err)
	}
	// Two programs have the name of the image "pharos" in theirs: neither is taken for it.
	for path, name := range map[string]string{"./kubectl-pharos": "kubectl-pharos", "./lifecycle/takeover/agent/pharos-agent": "pharos-agent"} {
		if !slices.ContainsFunc(found.Images, func(i detect.Image) bool { return i.Path == path && i.Name == name }) {
			t.Errorf("there is no image %s of %s: %v", name, path, found.Images)
		}
	}
	// Who installs the controller that sweeps, on top of the plain one.
	if !slices.Equal(found.Targets, []string{"pharos-controller-sweep"}) {
		t.Errorf("the targets are %v", found.Targets)
	}
	checkIts(t, ownFiles(t), found)
}

// ownFiles are the files that are built, and manifests, as they lie there.
func ownFiles(t *testing.T) map[string]source.File {
	t.Helper()
	files := map[string]source.File{}
	root, err := os.OpenRoot("../..")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, dir := range []string{"catalogue", "examples", "internal", "kubectl-pharos", "lease", "lifecycle", "reaper", "receipt", "docs"} {
		addFiles(t, root, dir, files)
	}
	for _, name := range []string{"go.mod", "go.sum", "doc.go", "README.md", "LICENSE", "Makefile"} {
		addFile(t, root, name, files)
	}
	return files
}
