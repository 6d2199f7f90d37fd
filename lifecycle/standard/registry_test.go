package standard_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
)

// TestRegistryThatLostAPart has the registry lose the manifest that an unchanged
// image's index names. A delivery of something else builds it again.
func TestRegistryThatLostAPart(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	first := s.reconcile(c.Config())
	at := slices.IndexFunc(first.Plan.Images, func(i lifecycle.ImageStatus) bool { return i.Name == "mail" })
	ref, err := name.NewDigest(s.registry + "/shop/mail@" + string(first.Plan.Images[at].Digest))
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(ref)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	lost := manifest.Manifests[0].Digest.String()
	if err := remote.Delete(ref.Digest(lost)); err != nil {
		t.Fatal(err)
	}

	s.write(map[string]string{"gitops/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {currency: USD}\n"})
	s.commit("Take dollars")
	rec := &recorder{}
	res, err := s.lifecycle(c.Config()).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Events: rec.event})
	if err != nil {
		t.Fatal(err)
	}
	if got := rec.built(); !slices.Equal(got, []string{"mail"}) || res.Plan.Decision != lifecycle.DecideBuild {
		t.Errorf("it built %v, and decided %s", got, res.Plan.Decision)
	}
	if reasons := strings.Join(res.Plan.Reasons, "\n"); !strings.Contains(reasons, lost) {
		t.Errorf("the reasons do not name what was lost:\n%s", reasons)
	}
	if index, err = remote.Index(ref); err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Errorf("the registry still misses something: %v", err)
	}
}
