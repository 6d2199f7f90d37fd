package argocd_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// The controller takes out of an Application what says nothing. One that is
// declared with it would differ from its parent's commit as soon as it was looked
// at, and stay so.
func TestDeclaredAsTheControllerLeavesIt(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	s.root("{}")
	other := s.url + "-other.git"
	files := s.appOfApps("{}", "api")
	foreign := s.application(s.child("extra"), "extra", s.name, "{syncOptions: []}")
	foreign = strings.NewReplacer(s.url, other, "path: \"extra\"", "path: extra, directory: {recurse: false}", "project: default", `project: ""`).Replace(foreign)
	files["root/kustomization.yaml"] = "resources: [apps.yaml, extra.yaml]\n"
	files["root/extra.yaml"] = foreign
	files["extra/extra.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\n"
	c := s.commit(files)
	s.git("push", "-q", other, string(c.ID)+":refs/heads/main")
	d := s.deliver(c)
	// The controller looks at the Applications, and then at their parent.
	for _, name := range []string{s.child("api"), s.child("extra"), s.name} {
		s.patch(name, "somebody", "metadata: {annotations: {argocd.argoproj.io/refresh: normal}}")
		s.awaitThat(name, "been looked at", func(o map[string]any) bool {
			_, asked, _ := unstructured.NestedString(o, "metadata", "annotations", "argocd.argoproj.io/refresh")
			return !asked
		})
	}
	o, err := s.deliverer().Observe(t.Context(), d.observe())
	if err != nil || !o.Healthy() || len(o.Drifted) > 0 {
		t.Errorf("saw %+v, %v\n%s", o, err, s.dump())
	}
}
