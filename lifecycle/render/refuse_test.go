package render_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/render"
)

// TestRefused has commits that cannot be rendered: each error has its sentinel
// and says where.
func TestRefused(t *testing.T) {
	t.Parallel()
	const k = "kustomization.yaml"
	at := overlay + "/" + k
	for name, c := range map[string]struct {
		files map[string]string // in the overlay's folder
		is    error
		says  []string
	}{
		"no kustomization":   {map[string]string{"x.yaml": object}, source.ErrNotFound, []string{overlay, "has no kustomization.yaml"}},
		"two kustomizations": {map[string]string{k: "namePrefix: a", "Kustomization": "namePrefix: b"}, nil, []string{"more than one", at, overlay + "/Kustomization"}},
		"empty":              {map[string]string{k: "# nothing\n"}, nil, []string{at, "empty"}},
		"not YAML":           {map[string]string{k: "resources:\n- a\n b: c\n"}, nil, []string{at + ":3: mapping values"}},
		"unknown field":      {map[string]string{k: "namePrefix: x\nresource: [a.yaml]\n"}, nil, []string{at + ":2: resource: "}},
		"wrong type":         {map[string]string{k: "images:\n- name: a\n  newTag: y\n"}, nil, []string{at + ":3: images.newTag: ", "bool"}},
		"wrong kind":         {map[string]string{k: "kind: Deployment\nresources: [a.yaml]", "a.yaml": object}, nil, []string{"kind should be"}},
		"a missing file":     {map[string]string{k: "resources:\n- a.yaml\n- b.yaml\n", "a.yaml": object}, source.ErrNotFound, []string{at + ":3: resources[1]: \"b.yaml\"", "not found"}},
		"all that is missing": {
			map[string]string{k: "resources: [a.yaml]\npatches:\n- path: p.yaml\nconfigMapGenerator:\n- {name: x, envs: [e.env]}\n"}, source.ErrNotFound,
			[]string{":1: resources[0]", ":3: patches[0].path", ":5: configMapGenerator[0].envs[0]"},
		},
		"an absolute path":            {map[string]string{k: "resources: [/etc/passwd]"}, render.ErrOutside, []string{"/etc/passwd"}},
		"the virtual root":            {map[string]string{k: "resources: [/tree/gitops/overlays/dev/a.yaml]", "a.yaml": object}, render.ErrOutside, nil},
		"up and out":                  {map[string]string{k: "resources: [../../../../etc/passwd]"}, render.ErrOutside, nil},
		"out and in again":            {map[string]string{k: "resources: [../../../../tree/gitops/overlays/dev/a.yaml]", "a.yaml": object}, render.ErrOutside, nil},
		"a link to /etc/passwd":       {map[string]string{k: "configMapGenerator: [{name: x, files: [l]}]", "l": linkTo + "/etc/passwd"}, render.ErrOutside, []string{overlay + "/l", "/etc/passwd"}},
		"a link up and out":           {map[string]string{k: "resources: [l]", "l": linkTo + "../../../../x"}, render.ErrOutside, nil},
		"a link to itself":            {map[string]string{k: "resources: [l]", "l": linkTo + "l"}, render.ErrCycle, []string{"symbolic links"}},
		"a circle of links":           {map[string]string{k: "resources: [l/x.yaml]", "l": linkTo + "m", "m": linkTo + "./l"}, render.ErrCycle, nil},
		"a dangling link":             {map[string]string{k: "resources: [l]", "l": linkTo + "gone.yaml"}, source.ErrNotFound, []string{"gone.yaml"}},
		"a link as the kustomization": {map[string]string{k: linkTo + "../../../../../etc/passwd"}, render.ErrOutside, nil},
		"a submodule":                 {map[string]string{k: "resources: [sub/base]", "sub": submodule + strings.Repeat("a", 40)}, nil, []string{"submodule"}},
		"an LFS pointer":              {map[string]string{k: "configMapGenerator: [{name: x, files: [f]}]", "f": "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("a", 64) + "\nsize 9\n"}, render.ErrRemote, []string{"LFS", "configMapGenerator[0].files[0]"}},
		"a giant file":                {map[string]string{k: "configMapGenerator: [{name: x, files: [big]}]", "big": strings.Repeat("x", 16<<20+1)}, render.ErrTooLarge, []string{"configMapGenerator[0].files[0]", overlay + "/big", "16777217 bytes"}},
		"itself":                      {map[string]string{k: "resources: [.]"}, render.ErrCycle, nil},
		"its parent":                  {map[string]string{k: "resources: [..]", "../" + k: "resources: [dev]"}, render.ErrCycle, nil},
		"a circle of bases":           {map[string]string{k: "resources: [../a]", "../a/" + k: "resources: [../b]", "../b/" + k: "resources: [../a]"}, render.ErrCycle, []string{"overlays/b/kustomization.yaml:1: resources[0]"}},
		"a helm chart":                {map[string]string{k: "namePrefix: a-\nhelmCharts: [{name: x, repo: http://127.0.0.1:1}]"}, render.ErrHelm, []string{at + ":2: helmCharts: ", "helm template"}},
		"an old helm chart":           {map[string]string{k: "namePrefix: a-\nhelmChartInflationGenerator: [{chartName: x}]"}, render.ErrHelm, []string{at + ":2: helmChartInflationGenerator: "}},
		"a helm generator":            {map[string]string{k: "generators: [g.yaml]", "g.yaml": "apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: x}\nname: x\n"}, render.ErrHelm, nil},
		"an exec plugin": {
			map[string]string{k: "generators: [g.yaml]", "g.yaml": "apiVersion: v1\nkind: Gen\nmetadata: {name: x, annotations: {config.kubernetes.io/function: 'exec: {path: ./run}'}}\n"},
			render.ErrPlugin, []string{"generators[0]", "v1 Gen"},
		},
		"a container plugin": {
			map[string]string{k: "transformers:\n- |-\n  apiVersion: example.org/v1\n  kind: T\n  metadata: {name: x, annotations: {config.kubernetes.io/function: 'container: {image: x}'}}\n"},
			render.ErrPlugin, []string{"example.org/v1 T"},
		},
		"a component as a base": {map[string]string{k: "resources: [c]", "c/" + k: "kind: Component\nnamePrefix: x"}, nil, []string{"listing it under components", "c/kustomization.yaml:1: kind"}},
		"a base as a component": {map[string]string{k: "components: [c]", "c/" + k: "namePrefix: x"}, nil, []string{"its kind must be Component"}},
		"a malformed manifest":  {map[string]string{k: "resources: [a.yaml, b.yaml]", "a.yaml": object + "---\na:\n- b\n c: d\n", "b.yaml": "x: {"}, nil, []string{overlay + "/a.yaml:8: ", overlay + "/b.yaml:1: "}},
		"generateName":          {map[string]string{k: "resources: [a.yaml]", "a.yaml": object + "---\napiVersion: batch/v1\nkind: Job\nmetadata:\n  generateName: run-\n"}, render.ErrUnnamed, []string{overlay + "/a.yaml:6: metadata.generateName: \"run-\"", "needs a name that stays"}},
		"no name":               {map[string]string{k: "resources: [a.yaml]", "a.yaml": "apiVersion: v1\nkind: ConfigMap\n"}, render.ErrUnnamed, []string{"metadata.name"}},
		"the same object twice": {map[string]string{k: "resources: [a.yaml, b.yaml]", "a.yaml": object, "b.yaml": object}, render.ErrDuplicate, []string{"b.yaml", "ConfigMap"}},
		"the same object in two versions": {
			map[string]string{k: "resources: [a.yaml, b.yaml]", "a.yaml": strings.Replace(object, "v1", "g/v1", 1), "b.yaml": strings.Replace(object, "v1", "g/v2", 1)},
			render.ErrDuplicate, []string{"g/v1 ConfigMap a", "g/v2 ConfigMap a"},
		},
		"aliases in themselves":       {map[string]string{k: "resources: [a.yaml]", "a.yaml": object + "x: &a [*a]\n"}, render.ErrCycle, []string{"alias", "a.yaml"}},
		"aliases that multiply":       {map[string]string{k: "resources: [a.yaml]", "a.yaml": laughs}, render.ErrTooLarge, []string{"a.yaml"}},
		"aliases in an inline patch":  {map[string]string{k: "patches:\n- patch: |-\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: a}\n    x: &a [*a]\n"}, render.ErrCycle, nil},
		"aliases after a broken part": {map[string]string{k: "resources: [a.yaml]", "a.yaml": "x: 'a\n---\n" + object + "x: &a [*a]\n"}, render.ErrCycle, nil},
		"maps nested in braces":       {map[string]string{k: "resources: [a.yaml]", "a.yaml": object + "x: " + strings.Repeat("{x: ", 9000) + strings.Repeat("}", 9000) + "\n"}, render.ErrTooLarge, []string{"a.yaml", "256 deep"}},
		"lists nested in a line":      {map[string]string{k: "resources: [a.yaml]", "a.yaml": object + "x:\n" + strings.Repeat("- ", 257) + "x\n"}, render.ErrTooLarge, []string{"a.yaml", "256 deep"}},
		"maps and lists by columns":   {map[string]string{k: "resources: [a.yaml]", "a.yaml": object + columns(140)}, render.ErrTooLarge, []string{"a.yaml", "256 deep"}},
		"JSON nested":                 {map[string]string{k: "resources: [a.json]", "a.json": "{\n" + `"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "x": ` + strings.Repeat("[", 256) + strings.Repeat("]", 256) + "}"}, render.ErrTooLarge, []string{"a.json", "line 2"}},
		"nested by aliases":           {map[string]string{k: "resources: [a.yaml]", "a.yaml": object + ladder(300)}, render.ErrTooLarge, []string{"a.yaml", "256 deep"}},
		"nested in an inline patch":   {map[string]string{k: "resources: [a.yaml]\npatches:\n- patch: |-\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: a}\n    x: " + strings.Repeat("[", 300) + strings.Repeat("]", 300) + "\n", "a.yaml": object}, render.ErrTooLarge, []string{"256 deep"}},
		"nested in a patch in JSON":   {map[string]string{"kustomization.yaml": `{"resources": ["a.yaml"], "patches": [{"patch": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, x: ` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}"}]}`, "a.yaml": object}, render.ErrTooLarge, []string{"256 deep"}},
		"types in themselves": {
			map[string]string{k: "crds: [t.json]", "t.json": `{"A": {"Schema": {"properties": {"apiVersion": {}, "kind": {}, "metadata": {}, "a": {"$ref": "A"}}}}, "A": {"Schema": {"properties": {"apiVersion": {}, "kind": {}, "metadata": {}, "a": {"$ref": "A"}}}}}`},
			render.ErrCycle, []string{"crds[0]"},
		},
		"no types":              {map[string]string{k: "crds: [t.json]", "t.json": ""}, nil, []string{"crds[0]", "empty"}},
		"a broken schema":       {map[string]string{k: "resources: [a.yaml]\nopenapi: {path: s.json}", "a.yaml": object, "s.json": `{"definitions": 7}`}, nil, []string{"openapi.path"}},
		"a schema in itself":    {map[string]string{k: "openapi: {path: s.json}", "s.json": `{"definitions": {"A": {"$ref": "#/definitions/B"}, "B": {"$ref": "#/definitions/A"}}}`}, render.ErrCycle, []string{"openapi.path"}},
		"a schema's other refs": {map[string]string{k: "openapi: {path: s.json}", "s.json": `{"definitions": {"A": {"properties": {"x": {"$ref": "#/definitions/A/properties/x"}}}}}`}, nil, []string{"openapi.path", "only references"}},
		"an unknown schema":     {map[string]string{k: "resources: [a.yaml]\nopenapi: {version: v0.0.1}", "a.yaml": object}, nil, []string{"not built in"}},
		"a patch of nothing":    {map[string]string{k: "resources: [a.yaml]\npatches: [{path: p.yaml}]", "a.yaml": object, "p.yaml": strings.Replace(object, "name: a", "name: b", 1)}, nil, []string{"no resource matches"}},
		"another image for one of the catalogue": {
			map[string]string{
				k:              "resources: [../base, a.yaml]\nimages:\n- {name: other, newTag: a}\n- name: api\n  newName: registry.example.com/dev/api\n  newTag: v1\n- {name: 'a.i:v1', newName: x}\n- {name: '[', newName: w}\n",
				"a.yaml":       object,
				"../base/" + k: "resources: [b.yaml]\nimages: [{name: api, newName: ghcr.io/acme/api}]\ntransformers: [t.yaml]\n", "../base/b.yaml": object,
				"../base/t.yaml": "apiVersion: builtin\nkind: ImageTagTransformer\nmetadata: {name: t}\nimageTag: {name: api, newName: z}\n",
			}, render.ErrRenamed, []string{
				at + `:5: images[1].newName: "registry`, at + `:7: images[2].newName: "x": api is an image`, "base/kustomization.yaml:2: images[0].newName", "ImageTagTransformer t: imageTag.newName", "Take newName",
			},
		},
		"a generator's source": {map[string]string{k: "configMapGenerator: [{name: x, files: [a=b=c]}]"}, nil, []string{"configMapGenerator[0].files[0]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := request
			r.Tree, _ = treeOf(inOverlay(c.files))
			_, err := render.New().Render(t.Context(), r)
			if err == nil {
				t.Fatal("no error")
			}
			if !errors.Is(err, lifecycle.ErrSource) {
				t.Errorf("is no ErrSource: %v", err)
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("want %v, got: %v", c.is, err)
			}
			for _, text := range c.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("does not say %q: %v", text, err)
				}
			}
			if strings.Contains(err.Error(), "/tree/") && name != "the virtual root" && name != "out and in again" {
				t.Errorf("shows a path that is not there: %v", err)
			}
		})
	}
}

// laughs is the bomb of that name.
var laughs = func() string {
	s := object + "l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 12 {
		alias := fmt.Sprintf("*l%d", i)
		s += fmt.Sprintf("l%d: &l%d [%s]\n", i+1, i+1, strings.Join([]string{alias, alias, alias, alias, alias, alias, alias, alias}, ", "))
	}
	return s
}()

// TestMultiplyingBases has thirty layers that each use the next twice.
func TestMultiplyingBases(t *testing.T) {
	t.Parallel()
	files := map[string]string{"kustomization.yaml": "resources: [../l0/a, ../l0/b]"}
	for i := range 30 {
		for _, side := range []string{"a", "b"} {
			files[fmt.Sprintf("../l%d/%s/kustomization.yaml", i, side)] =
				fmt.Sprintf("namePrefix: %s\nresources: [../../l%d/a, ../../l%d/b]", side, i+1, i+1)
		}
	}
	for _, side := range []string{"a", "b"} {
		files["../l30/"+side+"/kustomization.yaml"] = "resources: [o.yaml]"
		files["../l30/"+side+"/o.yaml"] = object
	}
	r := request
	r.Tree, _ = treeOf(inOverlay(files))
	if _, err := render.New().Render(t.Context(), r); !errors.Is(err, render.ErrTooLarge) {
		t.Errorf("want ErrTooLarge, got: %v", err)
	}
}

// TestManyBases has thousands of bases side by side, which is no mistake, and
// in a chain, which is.
func TestManyBases(t *testing.T) {
	t.Parallel()
	const n = 1000
	wide := map[string]string{"kustomization.yaml": "resources:\n"}
	deep := map[string]string{"kustomization.yaml": "resources: [../b0]"}
	for i := range n {
		wide["kustomization.yaml"] += fmt.Sprintf("- ../b%d\n", i)
		name := fmt.Sprintf("../b%d/", i)
		wide[name+"kustomization.yaml"] = "resources: [o.yaml]"
		wide[name+"o.yaml"] = strings.Replace(object, "name: a", fmt.Sprintf("name: a%d", i), 1)
		deep[name+"kustomization.yaml"] = fmt.Sprintf("resources: [../b%d]", i+1)
	}
	deep[fmt.Sprintf("../b%d/kustomization.yaml", n)] = "resources: [o.yaml]"
	deep[fmt.Sprintf("../b%d/o.yaml", n)] = object
	r := request
	r.Tree, _ = treeOf(inOverlay(wide))
	got, err := render.New().Render(t.Context(), r)
	if err != nil || len(got.Objects) != n {
		t.Errorf("%d objects, %v", len(got.Objects), err)
	}
	r.Tree, _ = treeOf(inOverlay(deep))
	if _, err := render.New().Render(t.Context(), r); !errors.Is(err, render.ErrTooLarge) {
		t.Errorf("want ErrTooLarge, got: %v", err)
	}
}

// TestMissingOverlay names the overlays that there are.
func TestMissingOverlay(t *testing.T) {
	t.Parallel()
	r := request
	r.Tree, _ = treeOf(map[string]string{
		"gitops/overlays/prod/kustomization.yaml": "namePrefix: x", "gitops/overlays/test/kustomization.yml": "namePrefix: x",
		"gitops/base/x.yaml": object,
	})
	for _, missing := range []string{"gitops/overlays/dev", "overlays/dev", "gitops/overlays/prod/deeper/still"} {
		r.Overlay = missing
		_, err := render.New().Render(t.Context(), r)
		if !errors.Is(err, source.ErrNotFound) || !errors.Is(err, lifecycle.ErrSource) {
			t.Fatalf("%s: want ErrNotFound, got: %v", missing, err)
		}
		if missing != "overlays/dev" && !strings.Contains(err.Error(), "gitops/overlays/prod, gitops/overlays/test") {
			t.Errorf("%s: does not name the others: %v", missing, err)
		}
	}
	for missing, meant := range map[string]string{"gitops/overlay/prod": "gitops/overlays/prod", "gitops/overlays/tset": "gitops/overlays/test", "overlays/prod": ""} {
		r.Overlay = missing
		_, err := render.New().Render(t.Context(), r)
		if is := strings.Contains(err.Error(), "Did you mean "); is != (meant != "") || is && !strings.Contains(err.Error(), "Did you mean "+meant+"? There are: ") {
			t.Errorf("%s: it should suggest %q: %v", missing, meant, err)
		}
	}
	r.Overlay = "gitops/base/x.yaml"
	if _, err := render.New().Render(t.Context(), r); err == nil || !strings.Contains(err.Error(), "is a file") {
		t.Errorf("a file: %v", err)
	}
}

// TestBadRequest has mistakes of the caller: they are not the commit's.
func TestBadRequest(t *testing.T) {
	t.Parallel()
	image := lifecycle.ImageRef{Name: "a", Repository: "r", Digest: sha}
	for name, change := range map[string]func(*lifecycle.RenderRequest){
		"no overlay": func(r *lifecycle.RenderRequest) { r.Overlay = "" },
		"outside":    func(r *lifecycle.RenderRequest) { r.Overlay = "../x" },
		"absolute":   func(r *lifecycle.RenderRequest) { r.Overlay = "/x" },
		"no name":    func(r *lifecycle.RenderRequest) { r.Images = []lifecycle.ImageRef{{Repository: "r", Digest: sha}} },
		"no digest":  func(r *lifecycle.RenderRequest) { r.Images = []lifecycle.ImageRef{{Name: "a", Repository: "r"}} },
		"twice":      func(r *lifecycle.RenderRequest) { r.Images = []lifecycle.ImageRef{image, image} },
		"in a circle": func(r *lifecycle.RenderRequest) {
			r.Images = []lifecycle.ImageRef{image, {Name: "r", Repository: "s", Digest: sha}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := request
			r.Tree, _ = treeOf(inOverlay(map[string]string{"kustomization.yaml": "resources: [a.yaml]", "a.yaml": object}))
			change(&r)
			_, err := render.New().Render(t.Context(), r)
			var e *lifecycle.Error
			if !errors.As(err, &e) || errors.Is(err, lifecycle.ErrSource) {
				t.Errorf("want a *lifecycle.Error that is no ErrSource, got: %v", err)
			}
		})
	}
}

// TestNoSecretsInErrors has secret generators with values in Git that
// kustomize quotes when something is wrong with them.
func TestNoSecretsInErrors(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"a literal without a key":  {"kustomization.yaml": "secretGenerator: [{name: x, literals: [hunter2-hunter2]}]"},
		"a literal without a name": {"kustomization.yaml": "secretGenerator: [{name: x, literals: [=hunter2-hunter2]}]"},
		"a value for a key twice":  {"kustomization.yaml": "secretGenerator: [{name: x, envs: [e]}]", "e": "hunter2-hunter2!\nhunter2-hunter2!\n"},
		"no name":                  {"kustomization.yaml": "secretGenerator: [{literals: [a=hunter2-hunter2]}]"},
		"a manifest":               {"kustomization.yaml": "resources: [s.yaml]\nvalidators: [v.yaml]\npatches: [{target: {kind: Secret}, patch: '[{op: remove, path: /x}]'}]", "v.yaml": object, "s.yaml": secretHead + "stringData: {password: hunter2-hunter2}\n"},
		"an address":               {"kustomization.yaml": "resources: ['https://user:hunter2-hunter2@127.0.0.1:9/x?token=hunter2-hunter2']"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := request
			r.Tree, _ = treeOf(inOverlay(files))
			_, err := render.New().Render(t.Context(), r)
			if err == nil {
				t.Fatal("no error")
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the secret is in the message: %v", err)
			}
		})
	}
}

// columns is YAML in which each further column holds a map, and a list in it.
func columns(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "x:\n" + strings.Repeat(" ", i) + "-\n")
	}
	return b.String()
}

// ladder is YAML in which each alias holds the one before.
func ladder(n int) string {
	var b strings.Builder
	b.WriteString("x0: &x0 {}\n")
	for i := range n {
		fmt.Fprintf(&b, "x%d: &x%d {x: *x%d}\n", i+1, i+1, i)
	}
	return b.String()
}

// TestNestedAsRealOnes renders what is as deep as the deepest real schemas, several
// times over, and what only looks deep.
func TestNestedAsRealOnes(t *testing.T) {
	t.Parallel()
	r := lifecycle.RenderRequest{Overlay: overlay}
	r.Tree, _ = treeOf(inOverlay(map[string]string{
		"kustomization.yaml": "resources: [a.yaml]\nconfigMapGenerator: [{name: g, files: [wide.json, art.txt]}]\n",
		"a.yaml":             object + "x: " + strings.Repeat("{x: ", 200) + strings.Repeat("}", 200) + "\n",
		"wide.json":          "[" + strings.Repeat(`{"a": [{}]}, `, 1000) + "0]",
		"art.txt":            strings.Repeat("[", 300) + "\n" + strings.Repeat(" ", 400) + "x: \n",
	}))
	if _, err := render.New().Render(t.Context(), r); err != nil {
		t.Error(err)
	}
}
