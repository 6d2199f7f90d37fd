package standard_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

func sortedWords(words []string) string {
	words = slices.Clone(words)
	slices.Sort(words)
	return strings.Join(words, " ")
}

// sell delivers the shop with another price.
func (s *shop) sell(c *devenv.Cluster, times string) lifecycle.Digest {
	s.t.Helper()
	s.write(map[string]string{"libs/price/p.go": "package price\n\nfunc Of(n int) int { return n * " + times + " }\n"})
	s.commit("Sell " + times + " times as dear")
	res := s.reconcile(c.Config())
	at := slices.IndexFunc(res.Plan.Images, func(i lifecycle.ImageStatus) bool { return i.Name == "api" })
	return res.Plan.Images[at].Digest
}

func references(images []lifecycle.UnusedImage) string {
	var refs []string
	for _, u := range images {
		refs = append(refs, u.Name+" "+string(u.Digest))
	}
	return strings.Join(refs, ", ")
}

// TestUnusedImages lists and deletes what the last receipts do not name, and
// nothing else.
func TestUnusedImages(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	var digests []lifecycle.Digest
	for _, times := range []string{"11", "12", "13", "14"} {
		digests = append(digests, s.sell(c, times))
	}
	l := s.lifecycle(c.Config())
	api := s.registry + "/shop/api"
	// Somebody else tagged one of them.
	tagged, err := name.NewDigest(api + "@" + string(digests[1]))
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(tagged)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Tag(tagged.Tag("v1.0"), index); err != nil {
		t.Fatal(err)
	}

	for keep, want := range map[int]int{1: 3, 2: 2, 4: 0, 100: 0} {
		unused, err := l.UnusedImages(t.Context(), lifecycle.UsedImages{Keep: keep})
		if err != nil || len(unused) != want {
			t.Errorf("keep %d: %s, %v, want %d", keep, references(unused), err, want)
		}
	}
	unused, err := l.UnusedImages(t.Context(), lifecycle.UsedImages{Keep: 2})
	if err != nil || !strings.Contains(references(unused), "api "+string(digests[0])) || !strings.Contains(references(unused), "api "+string(digests[1])) {
		t.Fatalf("unused: %s, %v", references(unused), err)
	}
	request := lifecycle.DeleteImagesRequest{UsedImages: lifecycle.UsedImages{Keep: 2}}
	wants := func(what string, r lifecycle.DeleteImagesRequest, class error, words ...string) {
		t.Helper()
		done, err := l.DeleteImages(t.Context(), r)
		if err == nil || class != nil && !errors.Is(err, class) || len(done.Deleted) > 0 {
			t.Errorf("%s: %+v, %v", what, done, err)
			return
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v does not say %q", what, err, w)
			}
		}
	}
	wants("nothing named", request, nil)
	both := request
	both.Unused, both.Digests = true, digests[:1]
	wants("both", both, nil)
	one := request
	one.Digests = []lifecycle.Digest{digests[3], digests[0]}
	wants("the live one", one, lifecycle.ErrBlocked, string(digests[3]), "the applied receipt")
	one.Digests = []lifecycle.Digest{digests[2]}
	wants("one of the last", one, lifecycle.ErrBlocked, string(digests[2]), "receipt ")
	one.Digests = []lifecycle.Digest{lifecycle.Digest("sha256:" + strings.Repeat("0", 64))}
	wants("one that is not there", one, lifecycle.ErrImageNotFound, "images --unused")
	release := s.hold(c.Config(), "ada@laptop")
	one.Digests = digests[:1]
	wants("under another's lease", one, lifecycle.ErrBlocked, "ada@laptop")
	release()
	named := request
	named.DryRun, named.Digests = true, []lifecycle.Digest{digests[0], digests[1], digests[0]}
	if done, err := l.DeleteImages(t.Context(), named); err != nil || len(done.Deleted) != 2 {
		t.Errorf("one named twice: %+v, %v", done, err)
	}
	dry := request
	dry.Unused, dry.DryRun = true, true
	if done, err := l.DeleteImages(t.Context(), dry); err != nil || len(done.Deleted) != 1 || len(done.Left) != 1 {
		t.Errorf("dry run: %+v, %v", done, err)
	}

	all := request
	all.Unused = true
	var told []lifecycle.UnusedImage
	all.Deleted = func(u lifecycle.UnusedImage) { told = append(told, u) }
	done, err := l.DeleteImages(t.Context(), all)
	if err != nil || references(done.Deleted) != "api "+string(digests[0]) || references(told) != references(done.Deleted) || references(done.Left) != "api "+string(digests[1]) {
		t.Fatalf("deleted %s, told %s, left %s, %v", references(done.Deleted), references(told), references(done.Left), err)
	}
	if st := s.status(c.Config()); !st.IsLive() || st.Lease.Held {
		t.Errorf("afterwards: %+v", st)
	}
	one.Digests = []lifecycle.Digest{digests[1]}
	if done, err := l.DeleteImages(t.Context(), one); err != nil || references(done.Deleted) != "api "+string(digests[1]) {
		t.Errorf("by its digest: %+v, %v", done, err)
	}
	if unused, err := l.UnusedImages(t.Context(), lifecycle.UsedImages{Keep: 2}); err != nil || len(unused) > 0 {
		t.Errorf("still unused: %s, %v", references(unused), err)
	}
	for i, digest := range digests {
		_, err := remote.Head(tagged.Digest(string(digest)))
		if (err == nil) != (i >= 2) {
			t.Errorf("image %d: %v", i, err)
		}
	}
	// What was deleted and is asked for again is built again.
	if again := s.sell(c, "11"); again != digests[0] {
		t.Errorf("built again, it is %s, want %s", again, digests[0])
	}
}

// TestImagesOfTargetsThatShare are used where either target uses them.
func TestImagesOfTargetsThatShare(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	first := s.sell(c, "21")
	second := s.target()
	second.Name, second.Namespace = second.Name+"-too", devtest.Namespace(t, c)
	l := s.lifecycle(c.Config())
	other, err := standard.New(second, s.options(c.Config()))
	if err != nil {
		t.Fatal(err)
	}
	s.sell(c, "22")
	alone, err := other.UnusedImages(t.Context(), lifecycle.UsedImages{Keep: 1, Images: []string{"api", "mail"}})
	if err != nil || len(alone) != 3 {
		t.Errorf("of the target alone: %s, %v", references(alone), err)
	}
	shared := lifecycle.UsedImages{Keep: 1, Images: []string{"api", "mail"}, Sharing: []*lifecycle.Lifecycle{l}}
	if unused, err := other.UnusedImages(t.Context(), shared); err != nil || references(unused) != "api "+string(first) {
		t.Errorf("of both: %s, %v", references(unused), err)
	}
	request := lifecycle.DeleteImagesRequest{UsedImages: shared, Unused: true}
	if _, err := other.DeleteImages(t.Context(), request); !errors.Is(err, lifecycle.ErrBlocked) || !strings.Contains(err.Error(), "nothing was delivered") {
		t.Errorf("where nothing was delivered: %v", err)
	}
	request.Unused, request.Digests = false, []lifecycle.Digest{first}
	release := s.hold(c.Config(), "ada@laptop")
	if _, err := other.DeleteImages(t.Context(), request); !errors.Is(err, lifecycle.ErrBlocked) || !strings.Contains(err.Error(), "ada@laptop") {
		t.Errorf("while the other target is somebody's: %v", err)
	}
	release()
	if done, err := other.DeleteImages(t.Context(), request); err != nil || references(done.Deleted) != "api "+string(first) {
		t.Errorf("deleted %s, %v", references(done.Deleted), err)
	}
}

// TestPartsOfAnUntaggedImage are used, where the tags of the image itself went.
func TestPartsOfAnUntaggedImage(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	digest := s.sell(c, "41")
	ref, err := name.NewDigest(s.registry + "/shop/api@" + string(digest))
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
	part, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	tags, err := remote.List(ref.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Tag(ref.Tag("v1.0-amd64"), part); err != nil {
		t.Fatal(err)
	}
	for _, tag := range tags {
		if err := remote.Delete(ref.Tag(tag)); err != nil {
			t.Fatal(err)
		}
	}
	l := s.lifecycle(c.Config())
	if unused, err := l.UnusedImages(t.Context(), lifecycle.UsedImages{}); err != nil || len(unused) > 0 {
		t.Errorf("unused: %s, %v", references(unused), err)
	}
	request := lifecycle.DeleteImagesRequest{Digests: []lifecycle.Digest{lifecycle.Digest(manifest.Manifests[0].Digest.String())}}
	if done, err := l.DeleteImages(t.Context(), request); err == nil || len(done.Deleted) > 0 {
		t.Errorf("deleted: %s, %v", references(done.Deleted), err)
	}
}

// bareBuilder pushes as BuildKit does: with the tag of the fingerprint alone.
type bareBuilder struct {
	lifecycle.Builder
	t *testing.T
}

func (b bareBuilder) Build(ctx context.Context, r lifecycle.BuildRequest) (lifecycle.BuildResult, error) {
	result, err := b.Builder.Build(ctx, r)
	if err == nil {
		dropTag(b.t, r.Repository, result.Digest)
	}
	return result, err
}

// dropTag removes the tag that an image has of its own.
func dropTag(t *testing.T, repository string, digest lifecycle.Digest) {
	t.Helper()
	tag, err := name.NewTag(repository + ":" + lifecycle.DigestTag(digest))
	if err == nil {
		err = remote.Delete(tag)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestReceiptsNameWhatHasATagOfItsOwn for images that were just built, and for
// those that are found by their fingerprint.
func TestReceiptsNameWhatHasATagOfItsOwn(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	target := s.target()
	deliver := func() lifecycle.Digest {
		t.Helper()
		config, err := standard.Config(target, s.options(c.Config()))
		if err != nil {
			t.Fatal(err)
		}
		config.Builders["go"] = bareBuilder{config.Builders["go"], t}
		l, err := lifecycle.New(config)
		if err != nil {
			t.Fatal(err)
		}
		res, err := l.Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(res.Plan.Images, func(i lifecycle.ImageStatus) bool { return i.Name == "api" })
		return res.Plan.Images[at].Digest
	}
	api := s.registry + "/shop/api"
	tagged := func(what string, digest lifecycle.Digest) {
		t.Helper()
		tag, err := name.NewTag(api + ":" + lifecycle.DigestTag(digest))
		if err != nil {
			t.Fatal(err)
		}
		if d, err := remote.Head(tag); err != nil || d.Digest.String() != string(digest) {
			t.Errorf("%s: %v, %v", what, d, err)
		}
	}
	digest := deliver()
	tagged("built", digest)
	dropTag(t, api, digest)
	target.Namespace = devtest.Namespace(t, c)
	s.prepared(c.Config(), target, s.git("rev-parse", "HEAD"))
	if again := deliver(); again != digest {
		t.Errorf("it is %s, and was %s", again, digest)
	}
	tagged("found", digest)
}

// TestRegistryThatForbidsDeletes says what to do.
func TestRegistryThatForbidsDeletes(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	proxy := s.throughProxy()
	s.sell(c, "31")
	s.sell(c, "32")
	proxy.Add(faultproxy.Rule{Method: http.MethodDelete, Do: faultproxy.Answer(http.StatusMethodNotAllowed)})
	done, err := s.lifecycle(c.Config()).DeleteImages(t.Context(), lifecycle.DeleteImagesRequest{UsedImages: lifecycle.UsedImages{Keep: 1}, Unused: true})
	if !errors.Is(err, lifecycle.ErrUnreachable) || !strings.Contains(err.Error(), "does not allow deletes") || len(done.Deleted) > 0 {
		t.Errorf("%+v, %v", done, err)
	}
}

// TestImageThatWasDeletedMeanwhile is not named in a receipt.
func TestImageThatWasDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	proxy := s.throughProxy()
	s.commit("Go through the proxy")
	_, err := s.lifecycle(c.Config()).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Events: func(e lifecycle.Event) {
		if e.Type == lifecycle.EventLeaseAcquired {
			proxy.Add(faultproxy.Rule{Method: http.MethodHead, Path: regexp.MustCompile(`/mail/manifests/`), Do: faultproxy.Answer(http.StatusNotFound)})
		}
	}})
	if !errors.Is(err, lifecycle.ErrImageNotFound) || !strings.Contains(err.Error(), "image mail") || !strings.Contains(err.Error(), "a moment ago") {
		t.Errorf("got %v", err)
	}
	s.nothingRecorded(c.Config())
}
