package main

import (
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/examples/quickstart/shop"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
)

// openPlace is the quickstart's place on the cluster that the tests share.
func openPlace(t *testing.T) *place {
	t.Helper()
	p := &place{dir: t.TempDir(), cluster: devtest.Cluster(t), shop: shop.Options{Namespace: "shop", Receipts: "pharos"}}
	t.Cleanup(func() {
		if err := p.close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(p.openBuildKit(t.Context(), t.Output()), p.openRegistry(t.Context()), p.takeNamespaces(t.Context())); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestStory(t *testing.T) {
	t.Parallel()
	tellAll(t, openPlace(t))
}

// TestStoryThroughArgoCD is the same story, told through a real Argo CD.
func TestStoryThroughArgoCD(t *testing.T) {
	t.Parallel()
	a := devtest.ArgoCD(t)
	p := openPlace(t)
	p.shop.ArgoCD, p.shop.Git = a.Namespace(), a.GitURL()+"/"+p.shop.Namespace+".git"
	tellAll(t, p)
}

func tellAll(t *testing.T, p *place) {
	t.Helper()
	var out strings.Builder
	s, err := p.newStory(t.Context(), &narrator{w: &out})
	if err != nil {
		t.Fatal(err)
	}
	told, err := s.tell(t.Context(), s.chapters())
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if len(told) != 6 {
		t.Fatalf("%d chapters were told, want 6", len(told))
	}
	first, library, docs, refused, broken, fixed := told[0], told[1], told[2], told[3], told[4], told[5]

	for _, c := range []struct {
		chapter
		want string
	}{
		{first, strings.Join(s.built("orders", "stock", "storefront"), " ")}, {library, strings.Join(s.built("orders", "storefront"), " ")},
		{docs, ""}, {refused, ""}, {broken, ""}, {fixed, ""},
	} {
		if got := strings.Join(c.built, " "); got != c.want {
			t.Errorf("%s: built %q, want %q", c.title, got, c.want)
		}
	}
	for _, image := range s.built("storefront", "orders", "stock") {
		changed := digestOf(t, first, image) != digestOf(t, library, image)
		if changed != (image != "stock") {
			t.Errorf("the library changed: digest of %s changed: %v", image, changed)
		}
		if digestOf(t, library, image) != digestOf(t, fixed, image) {
			t.Errorf("only manifests changed: the digest of %s changed", image)
		}
	}
	if d := docs.result; d.Plan.Decision != lifecycle.DecideUnchanged || d.Receipt != library.result.Receipt || len(d.Plan.Reasons) == 0 {
		t.Errorf("only documents changed: %+v", d)
	}
	if docs.api.writes != 0 || docs.images.writes != 0 || docs.api.reads == 0 || docs.images.reads == 0 {
		t.Errorf("only documents changed: API server: %v, registry: %v", docs.api, docs.images)
	}
	if b := refused.blocked; b == nil || b.Holder != "dana@laptop" || b.Mode != "borrow" || b.Until.IsZero() {
		t.Errorf("refused with %+v", b)
	}
	if !errors.Is(broken.err, lifecycle.ErrUnhealthy) || !strings.Contains(broken.err.Error(), "Insufficient cpu") {
		t.Errorf("what cannot become healthy ended with %v", broken.err)
	}
	if st := broken.status; st.Applied.ID != broken.result.Receipt || st.Live.ID != refused.result.Receipt {
		t.Errorf("after the failure, applied is %s and live %s, want %s and %s", st.Applied.ID, st.Live.ID, broken.result.Receipt, refused.result.Receipt)
	}
	if st := fixed.status; !st.IsLive() || st.Live.ID != fixed.result.Receipt || st.Lease.Held {
		t.Errorf("after the fix: %+v", st)
	}
	checkDeployments(t, p, fixed)
}

func digestOf(t *testing.T, c chapter, image string) lifecycle.Digest {
	t.Helper()
	i := slices.IndexFunc(c.result.Plan.Images, func(s lifecycle.ImageStatus) bool { return s.Name == image })
	if i < 0 || c.result.Plan.Images[i].Digest == "" {
		t.Fatalf("%s: image %s has no digest: %+v", c.title, image, c.result.Plan.Images)
	}
	return c.result.Plan.Images[i].Digest
}

// checkDeployments asks the API server, past all of Pharos, what runs.
func checkDeployments(t *testing.T, p *place, last chapter) {
	t.Helper()
	list, err := devtest.Client(t, p.cluster.Config()).AppsV1().Deployments(p.shop.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	replicas := map[string]int32{"storefront": 3, "orders": 1, "stock": 1}
	if p.noBuildKit == nil {
		replicas["website"] = 1
	}
	if len(list.Items) != len(replicas) {
		t.Errorf("there are %d Deployments", len(list.Items))
	}
	for _, d := range list.Items {
		image := path.Join(p.shop.Pull, d.Name) + "@" + string(digestOf(t, last, d.Name))
		if got := d.Spec.Template.Spec.Containers[0].Image; got != image {
			t.Errorf("%s runs %s, want %s", d.Name, got, image)
		}
		if got := d.Status.AvailableReplicas; got != replicas[d.Name] {
			t.Errorf("%s has %d replicas available, want %d", d.Name, got, replicas[d.Name])
		}
	}
}

func TestStoryNoticesAWrongTurn(t *testing.T) {
	t.Parallel()
	s, err := openPlace(t).newStory(t.Context(), &narrator{w: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	// Now a word in the README is something to deliver.
	if err := s.shop.Replace("pharos.yaml", `neutral: ["**/*.md"]`, ""); err != nil {
		t.Fatal(err)
	}
	told, err := s.tell(t.Context(), s.chapters())
	if !errors.Is(err, errNotAsTold) || len(told) != 2 {
		t.Fatalf("after %d chapters: %v", len(told), err)
	}
	if !strings.Contains(err.Error(), "A word in the README") || !strings.Contains(err.Error(), `"deliver"`) {
		t.Errorf("the error does not say where and what: %v", err)
	}
}

// interrupter ends a context when a text is printed.
type interrupter struct {
	strings.Builder
	at     string
	cancel context.CancelFunc
}

func (w *interrupter) Write(b []byte) (int, error) {
	if strings.Contains(string(b), w.at) {
		w.cancel()
	}
	return w.Builder.Write(b)
}
