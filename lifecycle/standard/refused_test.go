package standard_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
)

// TestRefusedBeforeAnythingIsWritten has commits of which the plan shows that
// they cannot be delivered. Everything is said at once, by every kind of run,
// and none of them writes.
func TestRefusedBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	more := `- name: web
  build: {dockerfile: {path: web/Dockerfile}}
  inputs: [web]
- name: docs
  build: {dockerfile: {path: web/Dockerfile}}
  inputs: [web]
delivery:`
	unbuildable := func(s *shop) {
		s.write(map[string]string{
			"pharos.yaml":    strings.Replace(s.git("show", "HEAD:pharos.yaml"), "delivery:", more, 1) + "\n",
			"web/Dockerfile": "FROM scratch\nCOPY web/index.html /\n", "web/index.html": "<h1>Shop</h1>\n",
		})
	}
	renamed := func(s *shop) {
		s.write(map[string]string{"gitops/kustomization.yaml": s.git("show", "HEAD:gitops/kustomization.yaml") +
			"\nimages: [{name: api, newName: registry.example.com/dev/api, newTag: v1}]\n"})
	}
	noBuilder := []string{"nothing builds from Dockerfiles for target ", ": web, docs\n", "spec.buildkit: {address: "}
	otherName := []string{`gitops/kustomization.yaml:3: images[0].newName: "registry.example.com/dev/api": api is an image that the catalogue builds`}
	for name, c := range map[string]struct {
		change []func(*shop)
		says   []string
	}{
		"no builder":   {[]func(*shop){unbuildable}, noBuilder},
		"another name": {[]func(*shop){renamed}, otherName},
		"both":         {[]func(*shop){unbuildable, renamed}, append(noBuilder, otherName...)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := devtest.Cluster(t)
			s := newShop(t, cluster)
			for _, change := range c.change {
				change(s)
			}
			s.commit("Ask for too much")
			cfg, requests := devtest.Count(cluster.Config())
			for _, dry := range []lifecycle.DryRun{lifecycle.DryRunClient, lifecycle.DryRunServer, lifecycle.DryRunNone} {
				rec := &recorder{}
				res, err := s.lifecycle(cfg).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), DryRun: dry, Events: rec.event})
				if !errors.Is(err, lifecycle.ErrSource) || res.Plan.Decision != lifecycle.DecideBuild || len(rec.built()) > 0 {
					t.Fatalf("dry run %q: %+v, %v, want a plan and a mistake of the commit", dry, res.Plan, err)
				}
				for _, text := range c.says {
					if !strings.Contains(err.Error(), text) {
						t.Errorf("dry run %q does not say %q: %v", dry, text, err)
					}
				}
			}
			for _, r := range requests.Requests() {
				if r.Method != http.MethodGet && !strings.Contains(r.Query, "dryRun=All") {
					t.Errorf("%s %s?%s, want only reads and dry runs", r.Method, r.Path, r.Query)
				}
			}
		})
	}
}
