package argocd_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/deliver/argocd"
	"github.com/pharos-dev/pharos/lifecycle/render"
)

// treeOf is a tree of these files.
func treeOf(files map[string]string) (source.Tree, error) {
	m := source.NewMemory()
	id, err := putTree(m, files)
	return source.Tree{ID: id, Objects: m}, err
}

func putTree(m *source.MemoryObjects, files map[string]string) (source.ID, error) {
	folders := map[string]map[string]string{}
	var entries []source.Entry
	for name, content := range files {
		first, rest, deep := strings.Cut(name, "/")
		if !deep {
			entries = append(entries, source.Entry{Name: name, Mode: source.ModeFile, ID: m.PutBlob([]byte(content))})
			continue
		}
		if folders[first] == nil {
			folders[first] = map[string]string{}
		}
		folders[first][rest] = content
	}
	for name, inner := range folders {
		id, err := putTree(m, inner)
		if err != nil {
			return "", err
		}
		entries = append(entries, source.Entry{Name: name, Mode: source.ModeDir, ID: id})
	}
	slices.SortFunc(entries, func(a, b source.Entry) int { return strings.Compare(sortName(a), sortName(b)) })
	return m.PutTree(entries)
}

func sortName(e source.Entry) string {
	if e.Mode == source.ModeDir {
		return e.Name + "/"
	}
	return e.Name
}

const shopURL = "https://git.example.com/shop.git"

func appOf(name, source string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name + "}\nspec:\n  project: default\n  source: " + source +
		"\n  destination: {server: 'https://kubernetes.default.svc', namespace: shop}\n"
}

func renderFiles(t *testing.T, l argocd.Layout, files map[string]string) (lifecycle.Rendering, error) {
	t.Helper()
	tree, err := treeOf(files)
	if err != nil {
		t.Fatal(err)
	}
	r, err := argocd.NewRenderer(l, render.New())
	if err != nil {
		t.Fatal(err)
	}
	return r.Render(t.Context(), lifecycle.RenderRequest{Tree: tree, Commit: "0123456789012345678901234567890123456789", Overlay: l.Overlay,
		Images: []lifecycle.ImageRef{{Name: "api", Repository: registry + "/api", Digest: digest(1)}, {Name: "web", Repository: registry + "/web", Digest: digest(2)}},
		Labels: map[string]string{keys.Target: "devbox"}})
}

func kustomization(resources string) string { return "resources: [" + resources + "]\n" }

func TestRenderRefuses(t *testing.T) {
	t.Parallel()
	ours := "{repoURL: '" + shopURL + "', targetRevision: main, path: api"
	for name, tt := range map[string]struct{ app, says string }{
		"helm":        {appOf("api", ours+", helm: {releaseName: x}}"), "its source has helm"},
		"directory":   {appOf("api", ours+", directory: {recurse: true}}"), "its source has directory"},
		"options":     {appOf("api", ours+", kustomize: {namePrefix: x}}"), "kustomize.namePrefix"},
		"other image": {appOf("api", ours+", kustomize: {images: ['redis=redis:7']}}"), `"redis=redis:7"`},
		"itself":      {appOf("api", "{repoURL: '"+shopURL+"', targetRevision: main, path: root}"), "declares an Application of itself"},
		"the root":    {strings.Replace(appOf("devbox", ours+"}"), "{name: devbox}", "{name: devbox, namespace: argocd}", 1), "declares it, and would put it back"},
		"no overlay":  {appOf("api", "{repoURL: '"+shopURL+"', targetRevision: main, path: missing}"), "no such folder"},
		"hydrator":    {strings.Replace(appOf("api", ours+"}"), "  project: default\n", "  project: default\n  sourceHydrator: {drySource: {}}\n", 1), "sourceHydrator"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := renderFiles(t, argocd.Layout{Repository: shopURL, Overlay: "root", Root: "devbox"}, map[string]string{
				"root/kustomization.yaml": kustomization("app.yaml"), "root/app.yaml": tt.app,
				"api/kustomization.yaml": kustomization("api.yaml"), "api/api.yaml": workload("api", ""),
			})
			if !errors.Is(err, lifecycle.ErrSource) {
				t.Fatalf("got %v", err)
			}
			mustContain(t, err.Error(), tt.says)
		})
	}
	for name, files := range map[string]map[string]string{
		"prefix": {
			"root/kustomization.yaml": "namePrefix: x-\nresources: [app.yaml]\n", "root/app.yaml": appOf("api", ours+"}"),
			"api/kustomization.yaml": kustomization("api.yaml"), "api/api.yaml": workload("api", ""),
		},
		"twice": {
			"root/kustomization.yaml": kustomization("app.yaml, ../api/api.yaml"), "root/app.yaml": appOf("api", ours+"}"),
			"api/kustomization.yaml": kustomization("api.yaml"), "api/api.yaml": strings.Replace(workload("api", ""), "{name: api}", "{name: api, namespace: shop}", 1),
			"root/api.yaml": "",
		},
	} {
		if name == "twice" {
			files["root/kustomization.yaml"] = kustomization("app.yaml, copy.yaml")
			files["root/copy.yaml"] = files["api/api.yaml"]
			delete(files, "root/api.yaml")
		}
		if _, err := renderFiles(t, argocd.Layout{Repository: shopURL, Overlay: "root", Root: "devbox"}, files); !errors.Is(err, argocd.ErrLayout) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Argo CD makes a Job again whenever it is gone, so it is not said to run once.
func TestRenderRefusesJobsThatRunOnce(t *testing.T) {
	t.Parallel()
	job := func(value string) string {
		return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: migrate, namespace: shop, annotations: {pharos.dev/run-once: \"" + value + "\"}}\n" +
			"spec: {template: {spec: {restartPolicy: Never, containers: [{name: m, image: m}]}}}\n"
	}
	for value, refused := range map[string]bool{"true": true, "yes": true, "false": false} {
		_, err := renderFiles(t, argocd.Layout{Repository: shopURL, Overlay: "root", Root: "devbox"}, map[string]string{
			"root/kustomization.yaml": kustomization("app.yaml"), "root/app.yaml": appOf("api", "{repoURL: '"+shopURL+"', path: api, targetRevision: HEAD}"),
			"api/kustomization.yaml": kustomization("job.yaml"), "api/job.yaml": job(value),
		})
		if errors.Is(err, argocd.ErrLayout) != refused || !refused && err != nil {
			t.Errorf("%s: got %v", value, err)
		}
		if refused && err != nil {
			mustContain(t, err.Error(), "Job shop/migrate", "argocd.argoproj.io/hook")
		}
	}
}

// Images go to the overlays that use them, and one that any uses is no finding.
func TestRenderFindings(t *testing.T) {
	t.Parallel()
	r, err := renderFiles(t, argocd.Layout{Repository: shopURL, Overlay: "root", Root: "devbox"}, map[string]string{
		"root/kustomization.yaml": kustomization("apps.yaml, set.yaml"),
		"root/apps.yaml":          appOf("api", "{repoURL: 'https://git.example.com/shop', targetRevision: main, path: api}") + "---\n" + appOf("charts", "{repoURL: 'https://charts.example.com', chart: redis, targetRevision: 1.0.0}"),
		"root/set.yaml":           "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: previews}\n",
		"api/kustomization.yaml":  kustomization("api.yaml"), "api/api.yaml": workload("api", ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, f := range r.Findings {
		text = append(text, f.Subject+": "+f.Message)
	}
	all := strings.Join(text, "\n")
	mustContain(t, all, "image web: is used by no object", "ApplicationSet previews: its Applications are not pointed at the commit")
	if strings.Contains(all, "image api") || strings.Count(all, "image web") != 1 {
		t.Errorf("found %s", all)
	}
	if !slices.Contains(r.Reads, "api/api.yaml") || !slices.IsSorted(r.Reads) {
		t.Errorf("read %v", r.Reads)
	}
	for _, o := range r.Objects {
		text := string(o.JSON)
		if pinned := strings.Contains(text, "0123456789012345678901234567890123456789"); pinned != (o.Kind == "Application" && o.Name != "charts") {
			t.Errorf("%s %s: %s", o.Kind, o.Name, text)
		}
		if !strings.Contains(text, `"pharos.dev/target":"devbox"`) {
			t.Errorf("%s %s has no label of the target", o.Kind, o.Name)
		}
		if o.Kind == "Deployment" && o.Namespace != "shop" {
			t.Errorf("the Deployment goes to %q, want the destination's namespace", o.Namespace)
		}
	}
}

func TestLayout(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]argocd.Layout{
		"nothing":       {},
		"both":          {Repository: shopURL, Root: "a", Applications: []argocd.Part{{Name: "b"}}},
		"twice":         {Repository: shopURL, Applications: []argocd.Part{{Name: "b"}, {Name: "b"}}},
		"no repository": {Root: "a"},
	} {
		if _, err := argocd.NewRenderer(l, render.New()); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := argocd.NewPreparer(l); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := argocd.NewRenderer(argocd.Layout{Repository: shopURL, Root: "a"}, nil); err == nil {
		t.Error("no error without a renderer")
	}
	if _, err := argocd.New(argocd.Config{}); err == nil {
		t.Error("no error without anything")
	}
	r, err := argocd.NewRenderer(argocd.Layout{Repository: shopURL, Root: "a"}, render.New())
	if err != nil || r.ID().Name != "kustomize+argocd" || r.ID().Version != render.New().ID().Version {
		t.Errorf("%+v, %v", r.ID(), err)
	}
}
