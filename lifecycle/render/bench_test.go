package render_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/pharos-dev/pharos/lifecycle/render"
)

// large is an overlay of 100 Deployments, Services and ConfigMaps each.
func large() map[string]string {
	files := map[string]string{"kustomization.yaml": "namespace: shop\nresources:\n", "p.yaml": "- {op: add, path: /spec/minReadySeconds, value: 5}\n"}
	for i := range 100 {
		base := fmt.Sprintf("../../base/b%d", i)
		files["kustomization.yaml"] += "- " + base + "\n"
		files[base+"/kustomization.yaml"] = "resources: [d.yaml, s.yaml]\nconfigMapGenerator: [{name: c" + fmt.Sprint(i) + ", literals: [a=b]}]\n"
		files[base+"/d.yaml"] = strings.Replace(deployment("api", "proxy@"+sha), "name: d}", fmt.Sprintf("name: d%d}", i), 1)
		files[base+"/s.yaml"] = fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: s%d}\nspec: {ports: [{port: 80}]}\n", i)
	}
	files["kustomization.yaml"] += "patches: [{path: p.yaml, target: {kind: Deployment}}]\n"
	return inOverlay(files)
}

func BenchmarkRender(b *testing.B) {
	r := request
	r.Tree, _ = treeOf(large())
	for b.Loop() {
		if _, err := render.New().Render(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkKustomize is the peer: the library behind the command, on a
// checkout, with its YAML.
func BenchmarkKustomize(b *testing.B) {
	files := large()
	k := overlay + "/kustomization.yaml"
	files[k] += "images: [{name: api, newName: localhost:5000/dev/api, digest: \"" + sha + "\"}]\nlabels: [{pairs: {pharos.dev/target: dev}}]\n"
	dir := filepath.Join(checkout(b, files), filepath.FromSlash(overlay))
	for b.Loop() {
		m, err := krusty.MakeKustomizer(&krusty.Options{
			LoadRestrictions: types.LoadRestrictionsNone, PluginConfig: types.DisabledPluginConfig(),
		}).Run(filesys.MakeFsOnDisk(), dir)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := m.AsYaml(); err != nil {
			b.Fatal(err)
		}
	}
}
