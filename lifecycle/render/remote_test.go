package render_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/render"
)

// watch is a server and a git program that note when something is fetched.
func watch(t testing.TB) (address string, fetched func() bool) {
	t.Helper()
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	marker := filepath.Join(dir, "called")
	if runtime.GOOS != "windows" {
		script := "#!/bin/sh\necho called > '" + marker + "'\nexit 1\n"
		if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir)
	}
	return server.URL, func() bool {
		_, err := os.Stat(marker)
		return requests.Load() > 0 || err == nil
	}
}

// fields are kustomizations in which %s is an entry that kustomize loads.
var fields = map[string]string{
	"resources":              "resources: [%s]",
	"bases":                  "bases: [%s]",
	"components":             "components: [%s]",
	"crds":                   "crds: [%s]",
	"configurations":         "configurations: [%s]",
	"openapi":                "openapi: {path: %s}",
	"patches":                "patches: [{path: %s, target: {kind: Deployment}}]",
	"patchesJson6902":        "patchesJson6902: [{path: %s, target: {kind: Deployment, name: x, version: v1}}]",
	"patchesStrategicMerge":  "patchesStrategicMerge: [%s]",
	"replacements":           "replacements: [{path: %s}]",
	"configMapGenerator":     "configMapGenerator: [{name: x, files: [%s]}]",
	"configMapGenerator env": "configMapGenerator: [{name: x, env: %s}]",
	"secretGenerator":        "secretGenerator: [{name: x, envs: [%s]}]",
	"generators":             "generators: [%s]",
	"transformers":           "transformers: [%s]",
	"validators":             "validators: [%s]",
	"ConfigMapGenerator":     inline("generators", "kind: ConfigMapGenerator\nfiles: [%s]"),
	"SecretGenerator":        inline("generators", "kind: SecretGenerator\nenvs: [%s]"),
	"PatchTransformer":       inline("transformers", "kind: PatchTransformer\nPATH: %s"), // JSON's field names have no case
	"PatchJson6902":          inline("transformers", "kind: PatchJson6902Transformer\npath: %s\ntarget: {kind: Deployment, name: x}"),
	"PatchStrategicMerge":    inline("transformers", "kind: PatchStrategicMergeTransformer\npaths: [%s]"),
	"Replacement":            inline("validators", "kind: ReplacementTransformer\nreplacements: [{path: %s}]"),
	"ValueAdd":               inline("transformers", "kind: ValueAddTransformer\nvalue: x\ntargetFilePath: %s"),
}

func inline(field, config string) string {
	config = "apiVersion: builtin\nmetadata: {name: x}\n" + config
	return field + ":\n- |-\n  " + strings.ReplaceAll(config, "\n", "\n  ")
}

// TestRemote puts addresses in every field that names something: each is
// refused, and neither a connection is opened nor git run, even where a folder
// of that name exists.
func TestRemote(t *testing.T) {
	address, fetched := watch(t)
	host := strings.TrimPrefix(address, "http://")
	entries := []string{
		address + "/x.yaml", "HTTP://" + host + "/x.yaml", "http:/" + host, "https://" + host + "/o/r?ref=v1",
		"git::" + address + "/o/r", "github.com/o/r", "GitHub.com/o/r?ref=v1", "github.com:o/r", "git@" + host + ":o/r",
		"git@127.0.0.1/o/r//base", "ssh://git@" + host + "/o/r", "file:///o/r.git", "s3://bucket/key",
	}
	for field, kustomization := range fields {
		for _, entry := range entries {
			t.Run(field+"/"+entry, func(t *testing.T) {
				r := request
				r.Tree, _ = treeOf(map[string]string{
					overlay + "/kustomization.yaml":                fmt.Sprintf(kustomization, `"`+entry+`"`),
					overlay + "/github.com/o/r/kustomization.yaml": "namePrefix: x",
				})
				_, err := render.New().Render(t.Context(), r)
				if !errors.Is(err, render.ErrRemote) || !errors.Is(err, lifecycle.ErrSource) {
					t.Errorf("want ErrRemote, got: %v", err)
				}
			})
		}
	}
	if fetched() {
		t.Error("something was fetched")
	}
}

// TestRemoteBehindLocal looks for addresses behind folders, links and files.
func TestRemoteBehindLocal(t *testing.T) {
	address, fetched := watch(t)
	evil := "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: x}\npath: " + address + "/p.yaml\n"
	for name, files := range map[string]map[string]string{
		"a base's base": {
			"kustomization.yaml": "resources: [../../base]", "../../base/kustomization.yaml": "resources: [deeper]",
			"../../base/deeper/kustomization.yaml": "resources: [" + address + "]",
		},
		"a component": {
			"kustomization.yaml":   "components: [c]",
			"c/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncrds: [" + address + "]",
		},
		"a transformer's file":   {"kustomization.yaml": "transformers: [t.yaml]", "t.yaml": evil},
		"a transformer's folder": {"kustomization.yaml": "transformers: [t]", "t/kustomization.yaml": "resources: [t.yaml]", "t/t.yaml": evil},
		"a list of transformers": {
			"kustomization.yaml": "transformers: [t.yaml]",
			"t.yaml":             "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(evil), "\n", "\n  "),
		},
		"a local-config transformer": {
			"kustomization.yaml": "transformers: [t.yaml]",
			"t.yaml":             strings.Replace(evil, "{name: x}", `{name: x, annotations: {config.kubernetes.io/local-config: "true"}}`, 1),
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := request
			r.Tree, _ = treeOf(inOverlay(files))
			if _, err := render.New().Render(t.Context(), r); !errors.Is(err, render.ErrRemote) {
				t.Errorf("want ErrRemote, got: %v", err)
			}
		})
	}
	// Two objects of one ID make an entry that is no object to kustomize but a
	// path, and one that begins like a repository.
	r := request
	r.Tree, _ = treeOf(inOverlay(map[string]string{
		"kustomization.yaml": "transformers:\n- |-\n  github.com/o/r: x\n  apiVersion: v1\n  kind: A\n  metadata: {name: a}\n  ---\n  apiVersion: v1\n  kind: A\n  metadata: {name: a}\n",
	}))
	if _, err := render.New().Render(t.Context(), r); !errors.Is(err, render.ErrRemote) {
		t.Errorf("want ErrRemote, got: %v", err)
	}
	// A patch could change a path after it was checked.
	r.Tree, _ = treeOf(inOverlay(map[string]string{
		"kustomization.yaml":   "transformers: [t]",
		"t/kustomization.yaml": "resources: [t.yaml]\npatches: [{patch: '[{op: replace, path: /path, value: \"" + address + "\"}]', target: {kind: PatchTransformer}}]",
		"t/t.yaml":             strings.ReplaceAll(evil, address, "local"),
		"local/p.yaml":         "[]",
	}))
	if _, err := render.New().Render(t.Context(), r); !errors.Is(err, render.ErrPlugin) {
		t.Errorf("want ErrPlugin, got: %v", err)
	}
	if fetched() {
		t.Error("something was fetched")
	}
}

// inOverlay puts files into the overlay's folder; "../" leads out of it.
func inOverlay(files map[string]string) map[string]string {
	all := map[string]string{}
	for p, content := range files {
		all[filepath.ToSlash(filepath.Join(overlay, p))] = content
	}
	return all
}

// FuzzRender gives kustomize's graph arbitrary text: whatever it is, the
// renderer returns, opens no connection and runs no git.
func FuzzRender(f *testing.F) {
	for _, kustomization := range fields {
		f.Add(fmt.Sprintf(kustomization, "file.yaml"), object)
		f.Add(fmt.Sprintf(kustomization, "http://127.0.0.1:9/x"), "a: &a [*a]")
	}
	f.Add("resources: [file.yaml, base]", "---\n- x\n")
	f.Add("resources: [base]\nnamePrefix: x-\ncommonLabels: {a: b}", "\x00")
	address, fetched := watch(f)
	f.Fuzz(func(t *testing.T, kustomization, file string) {
		kustomization = strings.ReplaceAll(kustomization, "127.0.0.1:9", strings.TrimPrefix(address, "http://"))
		r := request
		r.Tree, _ = treeOf(inOverlay(map[string]string{
			"kustomization.yaml": kustomization, "file.yaml": file, "base/kustomization.yaml": "resources: [o.yaml]", "base/o.yaml": object,
		}))
		got, err := render.New().Render(context.Background(), r)
		var e *lifecycle.Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("an error of another type: %v", err)
		}
		if err == nil && len(got.Reads) == 0 {
			t.Error("rendered something without reading anything")
		}
		if fetched() {
			t.Fatalf("fetched something for\n%s", kustomization)
		}
	})
}

const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n"
