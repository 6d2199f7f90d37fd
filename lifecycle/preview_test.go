package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/render"
)

const previewCatalogue = "apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\nimages:\n- name: api\n  build: {files: {from: api}}\n  inputs: [api]\n"

const previewPod = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s, annotations: {big: \"9007199254740993\"}}\nspec: {terminationGracePeriodSeconds: 9007199254740993, containers: [{name: c, image: %s}]}\n"

// memoryTree holds files in folders of one level.
func memoryTree(files map[string]string) (source.Tree, error) {
	m := source.NewMemory()
	folders := map[string][]source.Entry{}
	for name, content := range files {
		folders[path.Dir(name)] = append(folders[path.Dir(name)], source.Entry{Name: path.Base(name), Mode: source.ModeFile, ID: m.PutBlob([]byte(content))})
	}
	byName := func(a, b source.Entry) int { return strings.Compare(a.Name, b.Name) }
	root := folders["."]
	for name, entries := range folders {
		if name == "." {
			continue
		}
		slices.SortFunc(entries, byName)
		id, err := m.PutTree(entries)
		if err != nil {
			return source.Tree{}, err
		}
		root = append(root, source.Entry{Name: name, Mode: source.ModeDir, ID: id})
	}
	slices.SortFunc(root, byName)
	id, err := m.PutTree(root)
	return source.Tree{ID: id, Objects: m}, err
}

// What a commit comes to, without its target: digests that nobody was asked for
// cannot be applied by accident.
func ExampleNewPreview() {
	tree, err := memoryTree(map[string]string{ // stands for a commit's tree
		"pharos.yaml":               previewCatalogue,
		"api/index.html":            "hello",
		"gitops/kustomization.yaml": "resources: [pod.yaml]\n",
		"gitops/pod.yaml":           "apiVersion: v1\nkind: Pod\nmetadata: {name: api}\nspec: {containers: [{name: api, image: api}]}\n",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := lifecycle.NewPreview(context.Background(), lifecycle.PreviewRequest{
		Tree: tree, Target: "devbox", Overlay: "gitops", Push: "localhost:5000/dev", Renderer: render.New(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(p.Objects[0].JSON))
	fmt.Println("unknown:", p.Unknown())
	// Output:
	// {"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"pharos.dev/not to be applied":"the digest is not known of api"},"labels":{"pharos.dev/target":"devbox"},"name":"api"},"spec":{"containers":[{"image":"localhost:5000/dev/api@sha256:unknown","name":"api"}]}}
	// unknown: [api]
}

// TestPreviewTouchesWhatItMust leaves objects alone that name no unknown digest,
// and numbers as they are in those that do.
func TestPreviewTouchesWhatItMust(t *testing.T) {
	t.Parallel()
	tree, err := memoryTree(map[string]string{
		"pharos.yaml": previewCatalogue, "api/a": "a",
		"gitops/kustomization.yaml": "resources: [a.yaml, b.yaml]\n",
		"gitops/a.yaml":             fmt.Sprintf(previewPod, "a", "api"),
		"gitops/b.yaml":             fmt.Sprintf(previewPod, "b", "other@sha256:"+strings.Repeat("0", 64)),
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := lifecycle.NewPreview(t.Context(), lifecycle.PreviewRequest{
		Tree: tree, Target: "devbox", Overlay: "gitops", Push: "localhost:5000/dev", Pull: "registry.example/dev", Renderer: render.New(),
	})
	if err != nil || len(p.Objects) != 2 {
		t.Fatal(p, err)
	}
	a, b := string(p.Objects[0].JSON), string(p.Objects[1].JSON)
	if !strings.Contains(a, `"registry.example/dev/api@sha256:unknown"`) || !strings.Contains(a, "not to be applied") || !strings.Contains(a, ":9007199254740993") {
		t.Errorf("a: %s", a)
	}
	if strings.Contains(b, "unknown") || strings.Contains(b, "not to be applied") {
		t.Errorf("b: %s", b)
	}
}

// TestPreviewRefuses has requests that lack something, and commits that do.
func TestPreviewRefuses(t *testing.T) {
	t.Parallel()
	_, err := lifecycle.NewPreview(t.Context(), lifecycle.PreviewRequest{})
	for _, field := range []string{"Target", "Overlay", "Push", "Renderer"} {
		if err == nil || !strings.Contains(err.Error(), "PreviewRequest."+field+" is required") {
			t.Errorf("%s: %v", field, err)
		}
	}
	tree, err := memoryTree(map[string]string{"readme": "no catalogue"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = lifecycle.NewPreview(t.Context(), lifecycle.PreviewRequest{Tree: tree, Target: "t", Overlay: "gitops", Push: "r/x", Renderer: render.New()})
	if !errors.Is(err, lifecycle.ErrSource) {
		t.Errorf("without a pharos.yaml: %v", err)
	}
}
