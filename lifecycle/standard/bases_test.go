package standard_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// TestImagesBuiltOnImages builds what others are built on before them, with one
// build at a time too, and records it.
func TestImagesBuiltOnImages(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	yaml := s.git("show", "HEAD:pharos.yaml") + "\n"
	// The user stands before its base, and that before its own.
	yaml = strings.Replace(yaml, "- name: api\n  build: {go: {package: ./services/api}}", "- name: api\n  build: {go: {package: ./services/api, base: mail}}", 1)
	yaml = strings.Replace(yaml, "- name: mail\n  build: {go: {package: ./services/mail}}", "- name: mail\n  build: {go: {package: ./services/mail, base: tools}}", 1)
	yaml = strings.Replace(yaml, "delivery:", "- name: tools\n  build: {go: {package: ./services/tools}}\n  inputs: [services/tools, go.mod]\ndelivery:", 1)
	s.write(map[string]string{"pharos.yaml": yaml, "services/tools/m.go": "package main\n\nfunc main() {}\n"})
	s.commit("Build services on tools")
	deliver := func() (*recorder, lifecycle.ReconcileResult, error) {
		options := s.options(c.Config())
		options.Jobs = 1
		l, err := standard.New(s.target(), options)
		if err != nil {
			t.Fatal(err)
		}
		rec := &recorder{}
		res, err := l.Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Events: rec.event})
		return rec, res, err
	}
	rec, res, err := deliver()
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Findings) > 0 {
		t.Errorf("findings: %v, want none: what is built on it uses tools", res.Findings)
	}
	if got := built(rec.events); !slices.Equal(got, []string{"tools", "mail", "api"}) {
		t.Errorf("built in the order %v, want what others are built on first", got)
	}
	images := s.status(c.Config()).Live.Record.Images // in the catalogue's order
	for i, on := range []int{1, 2} {
		if want := []string{images[on].Repository + "@" + images[on].Digest}; !slices.Equal(images[i].Bases, want) {
			t.Errorf("the receipt says that %s is built on %v, want %v", images[i].Name, images[i].Bases, want)
		}
	}
	if _, again, err := deliver(); err != nil || again.Plan.Decision != lifecycle.DecideUnchanged {
		t.Errorf("again: %+v, %v", again.Plan, err)
	}

	s.write(map[string]string{"services/mail/m.go": "package main\n\nfunc main() { println(\"post\") }\n"})
	s.commit("Call it post")
	rec, _, err = deliver()
	if got := built(rec.events); err != nil || !slices.Equal(got, []string{"mail", "api"}) {
		t.Errorf("built %v, %v, want what changed and what is built on it", got, err)
	}

	s.write(map[string]string{"services/tools/m.go": "package main\n\nfunc main() { nothing() }\n"})
	s.commit("Break the tools")
	rec, _, err = deliver()
	var failed *lifecycle.BuildError
	if !errors.As(err, &failed) || failed.Image != "tools" || len(rec.built()) > 0 {
		t.Errorf("built %v, %v, want the failure of the tools and nothing after it", rec.built(), err)
	}
}
