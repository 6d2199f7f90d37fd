package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/render"
)

const (
	// workloads is how many Deployments the overlay has, and Services and
	// ConfigMaps as many.
	workloads  = 100
	overlayDir = "overlays/dev"
	imageName  = "api"
	repository = "registry.local/dev/api"
	digest     = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	targetName = "dev"
)

// renders compares rendering a commit with kustomize on a checkout of it. The
// kustomization "peer" says for kustomize what Pharos adds by itself.
func renders(ctx context.Context, b *bench) ([]comparison, error) {
	kustomize, err := b.peer(ctx, "kustomize", "sigs.k8s.io/kustomize/kustomize/v5")
	if err != nil {
		return nil, err
	}
	dir, err := b.folder("overlay")
	if err != nil {
		return nil, err
	}
	if err := writeOverlay(dir); err != nil {
		return nil, err
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--object-format=sha1"},
		{"add", "--all"},
		{"-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgSign=false", "commit", "--quiet", "--message", "An overlay"},
	} {
		if _, err := (command{path: "git", args: args, dir: dir}).output(ctx); err != nil {
			return nil, err
		}
	}
	// A commit on top that has no part in the overlay, for the case in which nothing
	// changed.
	neutral := filepath.Join(b.dir, "overlay-neutral")
	for _, args := range [][]string{
		{"clone", "--quiet", "--no-hardlinks", dir, neutral},
		{"-C", neutral, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgSign=false", "rm", "--quiet", "peer/kustomization.yaml"},
		{"-C", neutral, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgSign=false", "commit", "--quiet", "--message", "Neutral"},
	} {
		if _, err := (command{path: "git", args: args, dir: b.dir}).output(ctx); err != nil {
			return nil, err
		}
	}
	cache := filepath.Join(b.dir, "renderings")
	ours := func(dir string) func(context.Context) error {
		return command{path: b.self, args: []string{childFlag, "render", dir, cache}}.run
	}
	forget := func(context.Context) error { return os.RemoveAll(cache) }
	name := fmt.Sprintf("render %d objects", 3*workloads)
	peer := filepath.Join(dir, "peer")
	theirs := side{name: "kustomize build", run: command{path: kustomize, args: []string{"build", peer}}.run}
	kept := render.NewCache(render.CacheConfig{})
	return []comparison{
		{name: name + ", cold", ours: side{name: "lifecycle/render", before: forget, run: ours(dir)}, peer: theirs},
		// The round that is not measured fills the cache.
		{name: name + ", unchanged", ours: side{name: "lifecycle/render", run: ours(dir)}, peer: theirs},
		{name: name + ", neutral commit", ours: side{name: "lifecycle/render", run: ours(neutral)}, peer: theirs},
		{
			name: name + ", in process, cold",
			ours: side{name: "lifecycle/render", run: func(ctx context.Context) error { return renderCommit(ctx, dir, nil, io.Discard) }},
			peer: side{name: "kustomize/api", run: func(context.Context) error { return kustomizeFolder(peer) }},
		},
		{
			name: name + ", in process, unchanged",
			ours: side{name: "lifecycle/render", run: func(ctx context.Context) error { return renderCommit(ctx, dir, kept, io.Discard) }},
			peer: side{name: "kustomize/api", run: func(context.Context) error { return kustomizeFolder(peer) }},
		},
	}, nil
}

func writeOverlay(dir string) error {
	files := map[string]string{
		overlayDir + "/kustomization.yaml": "namespace: shop\nresources:\n",
		overlayDir + "/patch.yaml":         "- {op: add, path: /spec/minReadySeconds, value: 5}\n",
		"peer/kustomization.yaml": fmt.Sprintf("resources: [../%s]\nimages: [{name: %s, newName: %s, digest: \"%s\"}]\nlabels: [{pairs: {%s: %s}}]\n",
			overlayDir, imageName, repository, digest, keys.Target, targetName),
	}
	for i := range workloads {
		base := fmt.Sprintf("base/app%03d", i)
		files[overlayDir+"/kustomization.yaml"] += "- ../../" + base + "\n"
		files[base+"/kustomization.yaml"] = fmt.Sprintf("resources: [app.yaml, service.yaml]\nconfigMapGenerator: [{name: settings%03d, literals: [mode=calm]}]\n", i)
		files[base+"/app.yaml"] = fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: app%03[1]d}
spec:
  selector: {matchLabels: {app: app%03[1]d}}
  template:
    metadata: {labels: {app: app%03[1]d}}
    spec:
      containers:
      - name: app
        image: api
        envFrom: [{configMapRef: {name: settings%03[1]d}}]
        ports: [{containerPort: 8080}]
`, i)
		files[base+"/service.yaml"] = fmt.Sprintf(`apiVersion: v1
kind: Service
metadata: {name: app%03[1]d}
spec:
  selector: {app: app%03[1]d}
  ports: [{port: 80, targetPort: 8080}]
`, i)
	}
	files[overlayDir+"/kustomization.yaml"] += "patches: [{path: patch.yaml, target: {kind: Deployment}}]\n"
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// renderCommit renders the overlay of a repository's last commit, with a cache or
// without one.
func renderCommit(ctx context.Context, dir string, cache *render.Cache, w io.Writer) error {
	repo, err := source.Open(dir)
	if err != nil {
		return err
	}
	commit, err := repo.Commit(ctx, "HEAD")
	if err != nil {
		return err
	}
	r, err := render.New(render.WithCache(cache)).Render(ctx, lifecycle.RenderRequest{
		Tree: commit.Tree, Overlay: overlayDir,
		Images: []lifecycle.ImageRef{{Name: imageName, Repository: repository, Digest: digest}},
		Labels: map[string]string{keys.Target: targetName},
	})
	if err != nil {
		return err
	}
	if len(r.Objects) != 3*workloads {
		return fmt.Errorf("%d objects came out, want %d", len(r.Objects), 3*workloads)
	}
	for _, o := range r.Objects {
		if _, err := fmt.Fprintf(w, "%s\n", o.JSON); err != nil {
			return err
		}
	}
	return nil
}

// kustomizeFolder is what the kustomize command does, in this process.
func kustomizeFolder(dir string) error {
	m, err := krusty.MakeKustomizer(&krusty.Options{
		LoadRestrictions: types.LoadRestrictionsRootOnly, PluginConfig: types.DisabledPluginConfig(),
	}).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return err
	}
	_, err = m.AsYaml()
	return err
}
