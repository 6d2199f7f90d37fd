package render_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/render"
)

const (
	overlay = "gitops/overlays/dev"
	sha     = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
)

var request = lifecycle.RenderRequest{
	Overlay: overlay,
	Images:  []lifecycle.ImageRef{{Name: "api", Repository: "localhost:5000/dev/api", Digest: sha}},
	Labels:  map[string]string{"pharos.dev/target": "dev"},
}

// TestSameAsKustomize renders each fixture from a tree, and from a checkout by
// kustomize with the same images and labels written into the overlay itself.
// The objects are equal, whatever their order. Not parallel: kustomize's
// schema is one for the process.
func TestSameAsKustomize(t *testing.T) {
	for name, files := range fixtures(t) {
		t.Run(name, func(t *testing.T) {
			r := request
			r.Tree, _ = treeOf(files)
			got, err := render.New().Render(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			var objects [][]byte
			for _, o := range got.Objects {
				objects = append(objects, o.JSON)
			}
			if diff := cmp.Diff(kustomize(t, files, r), byID(t, objects)); diff != "" {
				t.Errorf("kustomize's objects (-) and ours (+) differ:\n%s", diff)
			}
			if len(got.Findings) > 0 {
				t.Errorf("unexpected findings: %v", got.Findings)
			}
		})
	}
}

func fixtures(t *testing.T) map[string]map[string]string {
	t.Helper()
	names, err := filepath.Glob("testdata/same/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatal("no fixtures", err)
	}
	all := map[string]map[string]string{}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(name), ".txt")] = archive(string(b))
	}
	return all
}

// kustomize renders a checkout.
func kustomize(t *testing.T, files map[string]string, r lifecycle.RenderRequest) map[string]any {
	t.Helper()
	dir := filepath.Join(checkout(t, files), filepath.FromSlash(r.Overlay))
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		file := filepath.Join(dir, name)
		b, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if err := os.WriteFile(file, edited(t, b, r), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	openapi.ResetOpenAPI()
	defer openapi.ResetOpenAPI()
	m, err := krusty.MakeKustomizer(&krusty.Options{
		Reorder:          krusty.ReorderOptionNone,
		LoadRestrictions: types.LoadRestrictionsNone,
		PluginConfig:     types.DisabledPluginConfig(),
	}).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var objects [][]byte
	for _, o := range m.Resources() {
		b, err := o.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, b)
	}
	return byID(t, objects)
}

// edited is a kustomization as "kustomize edit set image" leaves it, with
// labels.
func edited(t *testing.T, content []byte, r lifecycle.RenderRequest) []byte {
	t.Helper()
	var k types.Kustomization
	if err := k.Unmarshal(content); err != nil {
		t.Fatal(err)
	}
	for _, image := range r.Images {
		k.Images = slices.DeleteFunc(k.Images, func(i types.Image) bool { return i.Name == image.Name })
		k.Images = append(k.Images, types.Image{Name: image.Name, NewName: image.Repository, Digest: string(image.Digest)})
	}
	k.Labels = append(k.Labels, types.Label{Pairs: r.Labels})
	b, err := yaml.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func byID(t *testing.T, objects [][]byte) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, o := range objects {
		dec := json.NewDecoder(bytes.NewReader(o))
		dec.UseNumber() // an integer beyond 2^53 is compared by its digits
		var m map[string]any
		if err := dec.Decode(&m); err != nil {
			t.Fatal(err)
		}
		meta := m["metadata"].(map[string]any)
		namespace, _ := meta["namespace"].(string)
		id := m["apiVersion"].(string) + " " + m["kind"].(string) + " " + namespace + "/" + meta["name"].(string)
		if _, ok := all[id]; ok {
			t.Fatalf("%s stands twice", id)
		}
		all[id] = m
	}
	return all
}
