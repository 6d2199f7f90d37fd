package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/examples/quickstart/shop"
	"github.com/pharos-dev/pharos/lifecycle"
)

// errNotAsTold is matched by the error of a step that did not turn out as the
// story says.
var errNotAsTold = errors.New("this did not turn out as the story says")

// ada delivers the shop.
const ada = "ada@example.com"

// story is a shop and the target that it is delivered to.
type story struct {
	say      *narrator
	shop     *shop.Repository
	cluster  *rest.Config
	keychain authn.Keychain
	// api and images count what the API server and the registry are asked;
	// images is nil if the registry is not ours.
	api, images *traffic
	// website says that there is one, which is built from a Dockerfile.
	website bool
	// namespace is where the services run.
	namespace string
	// server is the Git server that Argo CD fetches from; empty without one.
	server string
}

// newStory writes the shop. What is taken over from there is handed back when the place
// is closed.
func (p *place) newStory(ctx context.Context, say *narrator) (*story, error) {
	dir := filepath.Join(p.dir, "shop")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	repo, err := shop.Create(ctx, dir, p.shop)
	if err != nil {
		return nil, err
	}
	s := &story{say: say, shop: repo, keychain: p.keychain, api: &traffic{}, images: p.images, website: p.shop.BuildKit != "", server: p.shop.Git, namespace: p.shop.Namespace}
	s.cluster = s.api.client(p.cluster.Config())
	p.onClose(s.handBackLeft) // the first thing, while the cluster is there
	return s, nil
}

// chapter is what happened in one.
type chapter struct {
	title string
	// result and err are those of the last reconcile, built the images that it
	// built, sorted, and api and images what it asked.
	result      lifecycle.ReconcileResult
	err         error
	built       []string
	api, images load
	// status is what the target was at the end, if the chapter looked.
	status lifecycle.Status
	// blocked is how a reconcile was refused.
	blocked *lifecycle.BlockedError
}

// scene is a chapter before it happens.
type scene struct {
	title, about string
	happen       func(context.Context, *chapter) error
}

// chapters are those of deliveries.
func (s *story) chapters() []scene {
	return []scene{
		{"The first commit", s.opening(), s.firstCommit},
		{"The library changes", "Only the services that use it are built. The third one keeps its image.", s.libraryChanges},
		{"A word in the README", "Nothing that reaches an image or a manifest changes, so nothing is written.", s.onlyDocs},
		{"Somebody borrows the target", "While she holds its lease, a delivery is refused. Then she gives it back.", s.leaseRefuses},
		{"A change that cannot become healthy", "A slip of a finger: an m is missing behind a number of CPUs.", s.cannotBecomeHealthy},
		{"The fix", "What runs is what the commit says again.", s.fixDelivers},
	}
}

// tell tells the chapters. The error of one that did not turn out as told matches
// errNotAsTold.
func (s *story) tell(ctx context.Context, chapters []scene) ([]chapter, error) {
	var told []chapter
	for i, c := range chapters {
		s.say.chapter(i+1, c.title, c.about)
		now := chapter{title: c.title}
		if err := c.happen(ctx, &now); err != nil {
			return told, fmt.Errorf("chapter %d, %s: %w", i+1, c.title, err)
		}
		told = append(told, now)
	}
	return told, nil
}

// opening says what the first commit brings.
func (s *story) opening() string {
	if !s.website {
		return "Three Go services, a library that two of them use, and a kustomize overlay."
	}
	return "Three Go services, a library that two of them use, a website whose Dockerfile begins with\nFROM storefront, and a kustomize overlay."
}

// built are the images that a chapter is to build: those of Go, and the website
// where there is one and it is built on one of them.
func (s *story) built(images ...string) []string {
	if s.website && slices.Contains(images, "storefront") {
		images = append(images, "website")
	}
	return images
}

// notAsTold says what happened instead of what was told. cause may be nil.
func notAsTold(cause error, format string, args ...any) error {
	err := fmt.Errorf("%w: %s", errNotAsTold, fmt.Sprintf(format, args...))
	if cause != nil {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// commit commits what was changed in the shop, and shows it.
func (s *story) commit(ctx context.Context, message string) error {
	if err := s.shop.Commit(ctx, message); err != nil {
		return err
	}
	changed, err := s.shop.Changed(ctx)
	if err != nil {
		return err
	}
	s.say.commit(message, changed)
	return nil
}

func (s *story) open(ctx context.Context) (*delivery, error) {
	return openDelivery(ctx, s.shop.Dir(), shop.Target, ada, s.cluster, s.keychain)
}

// reconcile delivers the shop's last commit, tells about it, and notes in the
// chapter how it went. Only what has nothing to do with the delivery itself is
// returned.
func (s *story) reconcile(ctx context.Context, c *chapter, timeout time.Duration) error {
	return s.deliver(ctx, c, timeout, "reconcile", (*delivery).reconcile)
}

// deliver is reconcile, or what else delivers.
func (s *story) deliver(ctx context.Context, c *chapter, timeout time.Duration, called string,
	how func(*delivery, context.Context, lifecycle.ReconcileRequest) (lifecycle.ReconcileResult, error)) error {
	d, err := s.open(ctx)
	if err != nil {
		return err
	}
	s.say.line("%s %s", called, shortCommit(string(d.commit.ID)))
	s.api.take()
	s.images.take()
	c.built = nil
	c.result, c.err = how(d, ctx, lifecycle.ReconcileRequest{Timeout: timeout, Events: func(e lifecycle.Event) {
		if e.Type == lifecycle.EventImageBuilt {
			c.built = append(c.built, e.Image.Name)
		}
		s.say.event(e)
	}})
	slices.Sort(c.built)
	c.api, c.images = s.api.take(), s.images.take()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, f := range c.result.Findings {
		s.say.line("finding: %s: %s", f.Subject, f.Message)
	}
	if c.err == nil && c.result.Plan.Decision != lifecycle.DecideUnchanged {
		s.say.line("live at %s, receipt %s, after %.1f s", shortCommit(string(d.commit.ID)), c.result.Receipt.Short(), c.result.Took.Seconds())
	}
	return nil
}

// look shows what is on the target, and notes it in the chapter.
func (s *story) look(ctx context.Context, c *chapter) error {
	d, err := s.open(ctx)
	if err != nil {
		return err
	}
	if c.status, err = d.status(ctx); err != nil {
		return err
	}
	s.say.status(c.status)
	return nil
}
