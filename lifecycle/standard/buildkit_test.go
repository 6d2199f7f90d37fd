package standard_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// serves is a program that runs until it is ended.
const serves = "package main\n\nimport (\n\t\"os\"\n\t\"os/signal\"\n\t\"syscall\"\n)\n\nfunc main() {\n\tend := make(chan os.Signal, 1)\n\tsignal.Notify(end, syscall.SIGTERM)\n\t<-end\n}\n"

// withWebsite adds images of a Dockerfile, built on an image of the catalogue, and
// of files, and a BuildKit to the target.
func (s *shop) withWebsite(registry, more string) {
	s.t.Helper()
	yaml := s.git("show", "HEAD:pharos.yaml") + "\n"
	yaml = strings.Replace(yaml, `registry: {push: "`+s.registry+`/shop", insecure: true}`, registry, 1)
	yaml = strings.Replace(yaml, "delivery:", `- name: web
  build: {dockerfile: {path: web/Dockerfile, args: {GREETING: hello}}}
  inputs: [web]
- name: site
  build: {files: {from: site, root: /srv}}
  inputs: [site]
delivery:`, 1)
	s.write(map[string]string{
		"pharos.yaml":               yaml + more,
		"web/Dockerfile":            "ARG GREETING\nFROM api\nCOPY web/index.html /pages/\n",
		"web/index.html":            "<h1>Shop</h1>\n",
		"site/terms.txt":            "Pay first.\n",
		"services/api/m.go":         serves,
		"services/mail/m.go":        serves,
		"gitops/web.yaml":           deployment("web", ""),
		"gitops/kustomization.yaml": "namespace: " + s.namespace + "\nresources: [api.yaml, mail.yaml, web.yaml, settings.yaml]\n",
	})
	s.commit("Open a website")
}

// websiteStory delivers a commit with an image of each kind, changes the one of the
// Dockerfile, does nothing, and makes a mistake in it.
func (s *shop) websiteStory(cfg *rest.Config) {
	t := s.t
	t.Helper()
	deliver := func() (*recorder, lifecycle.ReconcileResult, error) {
		rec := &recorder{}
		res, err := s.lifecycle(cfg).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Events: rec.event})
		return rec, res, err
	}
	rec, first, err := deliver()
	if err != nil {
		t.Fatal(err)
	}
	if got := rec.built(); !slices.Equal(got, []string{"api", "mail", "site", "web"}) {
		t.Errorf("it built %v", got)
	}
	st := s.status(cfg)
	if !st.IsLive() || st.Live.ID != first.Receipt {
		t.Fatalf("status %+v", st)
	}
	images := map[string]receipt.Image{}
	for _, img := range st.Live.Record.Images {
		images[img.Name] = img
	}
	web, api := images["web"], images["api"]
	if !strings.HasPrefix(web.Toolchain, "buildkit v0.") || !slices.Equal(web.Bases, []string{api.Repository + "@" + api.Digest}) {
		t.Errorf("the receipt says of web: toolchain %q, bases %v; want BuildKit, and api by its digest", web.Toolchain, web.Bases)
	}
	running, err := devtest.Client(t, cfg).AppsV1().Deployments(s.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil || running.Spec.Template.Spec.Containers[0].Image != web.Repository+"@"+web.Digest {
		t.Errorf("the website runs %+v, %v", running.Spec.Template.Spec.Containers, err)
	}

	if _, res, err := deliver(); err != nil || res.Plan.Decision != lifecycle.DecideUnchanged {
		t.Errorf("the same commit again: %s, %v", res.Plan.Decision, err)
	}
	s.write(map[string]string{"web/index.html": "<h1>The shop</h1>\n"})
	s.commit("Write a better heading")
	if rec, _, err := deliver(); err != nil || !slices.Equal(rec.built(), []string{"web"}) {
		t.Errorf("after a change of a page it built %v, %v", rec.built(), err)
	}
	s.write(map[string]string{"web/Dockerfile": "FROM api\nCOPY web/index.html site/terms.txt /pages/\n"})
	s.commit("Take what is not declared")
	_, _, err = deliver()
	var build *lifecycle.BuildError
	if !errors.As(err, &build) || build.Image != "web" || !strings.Contains(err.Error(), "site/terms.txt is not declared: add ") {
		t.Errorf("an undeclared file: %v, want its path and the pattern", err)
	}
	if st := s.status(cfg); !st.IsLive() {
		t.Errorf("the failed build changed the target: %+v", st)
	}
}

func (s *shop) insecure() string {
	return `registry: {push: "` + s.registry + `/shop", insecure: true}`
}

// TestDockerfileByAddress delivers from a commit to a healthy target with a BuildKit
// at an address.
func TestDockerfileByAddress(t *testing.T) {
	t.Parallel()
	buildKit := devtest.BuildKit(t)
	c := devtest.Cluster(t)
	s := newShop(t, c)
	s.withWebsite(s.insecure(), "  buildkit: {address: \""+buildKit.Address()+"\"}\n")
	s.websiteStory(c.Config())
}

// TestDockerfileByRunner does the same with a BuildKit that need not reach the
// registry.
func TestDockerfileByRunner(t *testing.T) {
	t.Parallel()
	buildKit := devtest.BuildKit(t)
	c := devtest.Cluster(t)
	s := newShop(t, c)
	s.withWebsite(s.insecure(), "  buildkit: {runner: {address: \""+buildKit.Address()+"\"}}\n")
	s.websiteStory(c.Config())
}

// TestDockerfileByJob does the same in Jobs, with the addresses of registry and Git
// server as the cluster sees them, on a node that runs the images.
func TestDockerfileByJob(t *testing.T) {
	t.Parallel()
	n := devtest.Node(t)
	image, err := n.BuildKitImage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Only the lock says which image the tag is.
	at, digest, _ := strings.Cut(image, "@")
	tag := at + ":locked"
	s := newShop(t, n.Cluster)
	s.write(map[string]string{"pharos.lock": "apiVersion: pharos.dev/v1alpha1\nkind: Lock\nimages:\n  " + tag + ": " + digest + "\n"})
	repo := "/" + s.namespace + ".git"
	s.withWebsite(`registry: {push: "`+n.PushRegistry()+`/`+s.namespace+`", pull: "`+n.PullRegistry()+`/`+s.namespace+`", insecure: true}`,
		"  git: {url: \""+n.GitURL()+repo+"\", push: \""+n.GitPush()+repo+"\"}\n  buildkit: {job: {image: \""+tag+"\"}}\n")
	s.websiteStory(n.Config())
	pods, err := devtest.Client(t, n.Config()).CoreV1().Pods(s.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil || len(pods.Items) == 0 || pods.Items[0].Spec.NodeName != n.Name() {
		t.Errorf("the website's pods: %+v, %v", pods.Items, err)
	}
}

// TestBuildKitThatIsAway ends clearly, and leaves the images of other kinds built.
func TestBuildKitThatIsAway(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	s.withWebsite(s.insecure(), "  buildkit: {address: tcp://127.0.0.1:1}\n")
	rec := &recorder{}
	_, err := s.lifecycle(c.Config()).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Events: rec.event})
	if !errors.Is(err, lifecycle.ErrUnreachable) || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("got %v, want an ErrUnreachable that names the address", err)
	}
	if got := rec.built(); !slices.Equal(got, []string{"api", "mail", "site"}) {
		t.Errorf("it built %v", got)
	}
	s.nothingRecorded(c.Config())
}
