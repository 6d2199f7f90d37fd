package render_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/modfile"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/render"
)

// mustRender renders a tree of files.
func mustRender(t *testing.T, files map[string]string, r lifecycle.RenderRequest) lifecycle.Rendering {
	t.Helper()
	r.Tree, _ = treeOf(files)
	got, err := render.New().Render(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestOrder(t *testing.T) {
	t.Parallel()
	var manifests []string
	for _, o := range []string{
		"admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration w", "apps/v1 Deployment z", "apps/v1 Deployment a", "v1 Service s",
		"example.org/v1 Thing t", "v1 ConfigMap c", "apiextensions.k8s.io/v1 CustomResourceDefinition things.example.org", "v1 ServiceAccount sa",
		"scheduling.k8s.io/v1 PriorityClass p", "v1 ResourceQuota q", "v1 Namespace n", "storage.k8s.io/v1 StorageClass sc", "rbac.authorization.k8s.io/v1 Role r",
		"example.org/v1 Namespace imposter",
	} {
		f := strings.Fields(o)
		manifests = append(manifests, fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}\n", f[0], f[1], f[2]))
	}
	want := []string{
		"Namespace n", "CustomResourceDefinition things.example.org", "Namespace imposter", "ResourceQuota q", "StorageClass sc", "ServiceAccount sa", "Role r",
		"ConfigMap c", "Service s", "PriorityClass p", "Deployment a", "Deployment z", "Thing t", "ValidatingWebhookConfiguration w",
	}
	for range 2 {
		got := mustRender(t, inOverlay(map[string]string{
			"kustomization.yaml": "resources: [all.yaml]\nsortOptions: {order: fifo}", "all.yaml": strings.Join(manifests, "---\n"),
		}), lifecycle.RenderRequest{Overlay: overlay})
		var names []string
		for _, o := range got.Objects {
			names = append(names, o.Kind+" "+o.Name)
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		slices.Reverse(manifests) // the order does not depend on the files'
	}
}

// TestObject has an object's identity and its canonical JSON.
func TestObject(t *testing.T) {
	t.Parallel()
	got := mustRender(t, inOverlay(map[string]string{
		"kustomization.yaml": "resources: [o.yaml]",
		"o.yaml":             "kind: Thing\napiVersion: example.org/v1beta1\nspec: {z: 1.50, a: 9223372036854775807, \"\\u20ac\": <&>, e: 1e3, list: []}\nmetadata: {namespace: n, name: t}\n",
	}), lifecycle.RenderRequest{Overlay: overlay, Labels: map[string]string{"l": "v"}})
	want := []lifecycle.Object{{
		Group: "example.org", Version: "v1beta1", Kind: "Thing", Namespace: "n", Name: "t",
		JSON: []byte(`{"apiVersion":"example.org/v1beta1","kind":"Thing","metadata":{"labels":{"l":"v"},"name":"t","namespace":"n"},` +
			`"spec":{"a":9223372036854775807,"e":1000,"list":[],"z":1.5,"€":"<&>"}}`),
	}}
	if diff := cmp.Diff(want, got.Objects); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

// TestLabels sets them on objects, not on selectors and templates.
func TestLabels(t *testing.T) {
	t.Parallel()
	got := mustRender(t, inOverlay(map[string]string{"kustomization.yaml": "resources: [d.yaml]", "d.yaml": deployment("api")}), request)
	json := string(got.Objects[0].JSON)
	if n := strings.Count(json, "pharos.dev/target"); n != 1 || !strings.Contains(json, `"metadata":{"labels":{"pharos.dev/target":"dev"},"name":"d"}`) {
		t.Errorf("labels: %s", json)
	}
}

func deployment(images ...string) string {
	s := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers:\n"
	for i, image := range images {
		s += fmt.Sprintf("      - {name: c%d, image: %q}\n", i, image)
	}
	return s
}

func TestFindings(t *testing.T) {
	t.Parallel()
	const k = "kustomization.yaml"
	const unused = "is used by no object of the overlay"
	const tomorrow = ", which may be another image tomorrow: name it by its digest"
	for name, c := range map[string]struct {
		files  map[string]string
		images []lifecycle.ImageRef
		want   []lifecycle.Finding
	}{
		"none": {files: map[string]string{k: "resources: [d.yaml]", "d.yaml": deployment("api:1", "x@"+sha, "x:1@"+sha)}},
		"never used, and left on a tag": {
			files: map[string]string{k: "resources: [d.yaml]", "d.yaml": deployment("nginx:1.27", "redis", "localhost:5000/x")},
			want: []lifecycle.Finding{
				{Subject: "image api", Message: unused},
				{Subject: "Deployment d", Message: `container c0 uses "nginx:1.27"` + tomorrow},
				{Subject: "Deployment d", Message: `container c1 uses "redis"` + tomorrow},
				{Subject: "Deployment d", Message: `container c2 uses "localhost:5000/x"` + tomorrow},
			},
		},
		"named and tagged by the overlay": {
			files: map[string]string{k: "resources: [d.yaml]\nimages:\n- {name: ghcr.io/acme/api, newName: api}\n- {name: api, newTag: v1}\n- {name: api, newName: api, newTag: v2}\n- {name: web, newName: x, digest: \"" + sha + "\"}\n", "d.yaml": deployment("ghcr.io/acme/api:v0", "web")},
		},
		"another name of the same": {
			files: map[string]string{k: "resources: [d.yaml]", "d.yaml": deployment("ghcr.io:443/acme/api@" + sha)},
			want:  []lifecycle.Finding{{Subject: "image api", Message: unused + `: Deployment d uses "ghcr.io:443/acme/api"; give both the same name`}},
		},
		"used by another image": {
			files:  map[string]string{k: "resources: [d.yaml]", "d.yaml": deployment("web@" + sha)},
			images: []lifecycle.ImageRef{{Name: "tools", Repository: "r/tools", Digest: sha, Base: true}, {Name: "web", Repository: "r/web", Digest: sha}},
		},
		"an artifact": {
			files:  map[string]string{k: "resources: [d.yaml]", "d.yaml": deployment("web@" + sha)},
			images: []lifecycle.ImageRef{{Name: "site", Repository: "r/site", Digest: sha, Artifact: true}, {Name: "web", Repository: "r/web", Digest: sha}},
		},
		"names are not patterns": {
			files:  map[string]string{k: "resources: [d.yaml]", "d.yaml": deployment("axb@" + sha)},
			images: []lifecycle.ImageRef{{Name: "a.b", Repository: "r", Digest: sha}},
			want:   []lifecycle.Finding{{Subject: "image a.b", Message: unused}},
		},
		"pods in other kinds": {
			files: map[string]string{k: "resources: [w.yaml]", "w.yaml": "apiVersion: example.org/v1\nkind: Workload\nmetadata: {name: w, namespace: n}\nspec:\n  pods:\n" +
				"  - initContainers: [{name: i, image: a}]\n    containers: [{name: c, image: api}, {name: no-image}]\n    ephemeralContainers: [{name: e, image: b}]\n    volumes: [{name: v, image: {reference: c}}, {name: w}]\n"},
			want: []lifecycle.Finding{
				{Subject: "Workload n/w", Message: `init container i uses "a"` + tomorrow},
				{Subject: "Workload n/w", Message: `ephemeral container e uses "b"` + tomorrow},
				{Subject: "Workload n/w", Message: `volume v uses "c"` + tomorrow},
			},
		},
		"definitions have no pods": {
			files:  map[string]string{k: "resources: [c.yaml]", "c.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: c}\nspec: {containers: [{name: x, image: y}]}\n"},
			images: []lifecycle.ImageRef{},
		},
		"build metadata": {
			files:  map[string]string{k: "resources: [a.yaml]\nbuildMetadata: [originAnnotations, managedByLabel]", "a.yaml": object},
			images: []lifecycle.ImageRef{},
			want:   []lifecycle.Finding{{Subject: "buildMetadata", Message: "is left out: what it adds to the objects depends on where and by what they are rendered"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := request
			if c.images != nil {
				r.Images = c.images
			}
			got := mustRender(t, inOverlay(c.files), r)
			if diff := cmp.Diff(c.want, got.Findings); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReads has the paths that were read, links included, and those of other
// kustomizations, which must not be there; each blob is read once.
func TestReads(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		overlay + "/kustomization.yaml": "resources: [../../base, link.yaml]\ncomponents: [../../c]\npatches: [{path: p.yaml, target: {kind: Nothing}}]",
		overlay + "/link.yaml":          linkTo + "../../far/o.yaml",
		overlay + "/p.yaml":             "- {op: remove, path: /x}",
		overlay + "/unread.yaml":        object,
		"gitops/far":                    linkTo + "../really/far",
		"really/far/o.yaml":             strings.Replace(object, "name: a", "name: b", 1),
		"gitops/base/Kustomization":     "resources: [o.yaml]",
		"gitops/base/o.yaml":            object,
		"gitops/c/kustomization.yml":    "kind: Component\nnamePrefix: x-",
		"README.md":                     "hello",
	}
	r := request
	var s *store
	r.Tree, s = treeOf(files)
	got, err := render.New().Render(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"gitops/base/Kustomization", "gitops/base/o.yaml", "gitops/c/kustomization.yml", "gitops/far",
		overlay + "/kustomization.yaml", overlay + "/link.yaml", overlay + "/p.yaml", "really/far/o.yaml",
	}
	missed := []string{
		"gitops/base/kustomization.yaml", "gitops/base/kustomization.yml", "gitops/c/kustomization.yaml", "gitops/c/Kustomization",
		overlay + "/kustomization.yml", overlay + "/Kustomization",
	}
	all := slices.Sorted(slices.Values(slices.Concat(want, missed)))
	if diff := cmp.Diff(all, got.Reads); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	if len(s.reads) != len(want) {
		t.Errorf("%d blobs were read, want %d", len(s.reads), len(want))
	}
	for id, n := range s.reads {
		if n != 1 {
			t.Errorf("blob %s was read %d times", id, n)
		}
	}
}

// TestRootOverlay renders the root of a tree.
func TestRootOverlay(t *testing.T) {
	t.Parallel()
	got := mustRender(t, map[string]string{"Kustomization/is/a/folder": "", "kustomization.yaml": "resources: [a.yaml, deep/base]", "a.yaml": object, "deep/base/kustomization.yaml": "namePrefix: x-\nresources: [b.yaml]", "deep/base/b.yaml": object},
		lifecycle.RenderRequest{Overlay: "."})
	if len(got.Objects) != 2 {
		t.Errorf("want 2 objects, got %v", got.Objects)
	}
}

// TestQuiet has deprecated fields that kustomize warns of on standard error.
func TestQuiet(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr := os.Stderr
	os.Stderr = writer
	printed := make(chan string)
	go func() { b, _ := io.ReadAll(reader); printed <- string(b) }()
	files := map[string]string{
		"kustomization.yaml": "bases: [base]\ncommonLabels: {a: b}\nimageTags: [{name: x, newTag: v1}]\npatchesStrategicMerge: [p.yaml]",
		"p.yaml":             object, "base/kustomization.yaml": "resources: [o.yaml]\ncommonLabels: {c: d}", "base/o.yaml": object,
	}
	r := request
	r.Tree, _ = treeOf(inOverlay(files))
	_, err = render.New().Render(t.Context(), r)
	os.Stderr = stderr
	writer.Close()
	if text := <-printed; text != "" || err != nil {
		t.Errorf("%v; printed: %s", err, text)
	}
}

// TestCancel ends a render, also while it waits for its turn.
func TestCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	for name, files := range fixtures(t) {
		r := request
		r.Tree, _ = treeOf(files)
		if _, err := render.New().Render(ctx, r); !errors.Is(err, context.Canceled) || errors.Is(err, lifecycle.ErrSource) {
			t.Errorf("%s: want context.Canceled, got: %v", name, err)
		}
	}
}

// broken is an object store that fails at one blob.
type broken struct {
	source.Objects
	at source.ID
}

var errDisk = errors.New("input/output error")

func (b broken) Blob(ctx context.Context, id source.ID) (io.ReadCloser, int64, error) {
	if id == b.at {
		return nil, 0, errDisk
	}
	return b.Objects.Blob(ctx, id)
}

// TestBrokenStore fails at each blob in turn: the commit is not at fault, and
// nothing is rendered without what could not be read.
func TestBrokenStore(t *testing.T) {
	t.Parallel()
	for name, files := range fixtures(t) {
		r := request
		tree, s := treeOf(files)
		r.Tree = tree
		if _, err := render.New().Render(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		for id := range s.reads {
			r.Tree.Objects = broken{s, id}
			if _, err := render.New().Render(t.Context(), r); !errors.Is(err, errDisk) || errors.Is(err, lifecycle.ErrSource) {
				t.Errorf("%s: want the store's error, got: %v", name, err)
			}
		}
	}
}

// TestID keeps the version that is recorded equal to the one in go.mod.
func TestID(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", b, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mod.Require {
		if m.Mod.Path == render.Module {
			if got := render.New().ID(); got.Name != "kustomize" || got.Version != m.Mod.Version || render.Fallback != m.Mod.Version {
				t.Errorf("ID is %v with fallback %s, go.mod requires %s", got, render.Fallback, m.Mod.Version)
			}
			return
		}
	}
	t.Errorf("go.mod does not require %s", render.Module)
}
