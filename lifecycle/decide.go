package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/receipt"
)

// want is what a commit asks for, read from its tree alone.
type want struct {
	commit    source.Commit
	catalogue *catalogue.Catalogue
	states    []catalogue.State
}

func (l *Lifecycle) want(ctx context.Context, commit source.Commit) (*want, error) {
	c, err := catalogue.Load(ctx, commit.Tree)
	if err != nil {
		return nil, &Error{Op: "read " + catalogue.FileName, On: "commit " + short(commit.ID), Class: ErrSource, Err: err}
	}
	states, err := c.States(ctx, commit.Tree)
	if err != nil {
		return nil, &Error{Op: "compute fingerprints of", On: "commit " + short(commit.ID), Class: ErrSource, Err: err}
	}
	return &want{commit: commit, catalogue: c, states: states}, nil
}

func short(id source.ID) string {
	if len(id) > 12 {
		return string(id[:12])
	}
	return string(id)
}

// decide compares what is wanted with the target. It writes nothing.
func (l *Lifecycle) decide(ctx context.Context, w *want, s *situation) (Plan, []*image, error) {
	images, err := l.findImages(ctx, w.states, s)
	if err != nil {
		return Plan{}, nil, err
	}
	p := Plan{Applied: s.pointers.Applied, Live: s.pointers.Live}
	needs, err := l.needsDelivery(ctx, w, s, &p)
	if err != nil {
		return Plan{}, nil, err
	}
	building := false
	for _, img := range images {
		if img.status.Build() {
			building = true
			if img.status.Reason == "" {
				img.status.Reason = changedSince(ctx, img, w, s, p.Changes)
			}
			p.Reasons = append(p.Reasons, fmt.Sprintf("image %s has to be built: %s", img.status.Name, img.status.Reason))
		}
	}
	for _, img := range images {
		if !img.status.Build() && !inRecord(s.applied, img.status.Name, string(img.status.Fingerprint)) && s.applied != nil {
			needs = append(needs, fmt.Sprintf("image %s changed, and %s", img.status.Name, img.status.Reason))
		}
	}
	p.Images, p.Reasons = imageStatuses(images), append(p.Reasons, needs...)
	if len(p.Reasons) > 0 && s.applied != nil && s.applied.RollbackOf != "" {
		p.Reasons = append(p.Reasons, l.afterRollback(ctx, w, s))
	}
	switch {
	case building:
		p.Decision = DecideBuild
	case len(needs) > 0:
		p.Decision = DecideDeliver
	default:
		p.Decision = DecideUnchanged
		p.Reasons, err = l.proveUnchanged(ctx, w, s, p)
		if err != nil {
			return Plan{}, nil, err
		}
		if p.Reasons[0] != provenUnchanged {
			p.Decision = DecideDeliver
		}
	}
	if p.Decision == DecideUnchanged {
		return p, images, nil
	}
	lost, err := l.verifyImages(ctx, images)
	if err != nil {
		return Plan{}, nil, err
	}
	if len(lost) > 0 {
		p.Decision, p.Images, p.Reasons = DecideBuild, imageStatuses(images), append(lost, p.Reasons...)
	}
	return p, images, nil
}

// needsDelivery returns the reasons for a delivery that records and trees show
// without looking at the target's objects. It fills in the plan's changes.
func (l *Lifecycle) needsDelivery(ctx context.Context, w *want, s *situation, p *Plan) ([]string, error) {
	unreadable := func() (reasons []string) {
		for _, u := range s.unreadable() {
			reasons = append(reasons, u.What+" cannot be read, so nothing is known from it")
		}
		return reasons
	}
	switch {
	case s.unknown() != nil || s.damage.live != nil:
		return unreadable(), nil
	case s.applied == nil:
		return []string{"nothing was delivered to this target yet"}, nil
	case s.live == nil:
		return []string{"no delivery to this target became healthy yet"}, nil
	}
	reasons := unreadable()
	if s.adopted {
		reasons = append(reasons, "the target is adopted from another repository")
	}
	if s.pointers.Applied != s.pointers.Live {
		reasons = append(reasons, fmt.Sprintf("the applied receipt %s is not the live one, %s", s.pointers.Applied.Short(), s.pointers.Live.Short()))
	}
	if id := l.Renderer.ID(); s.applied.Renderer != id {
		reasons = append(reasons, fmt.Sprintf("the renderer was %s %s and is %s %s", s.applied.Renderer.Name, s.applied.Renderer.Version, id.Name, id.Version))
	}
	overlay := path.Clean(l.Overlay)
	if !slices.ContainsFunc(s.applied.Reads, func(p string) bool { return p == overlay || overlay == "." || strings.HasPrefix(p, overlay+"/") }) {
		reasons = append(reasons, "the applied receipt was not rendered from "+overlay)
	}
	before := source.Tree{ID: source.ID(s.applied.Tree), Objects: w.commit.Tree.Objects}
	if before.ID != w.commit.Tree.ID {
		classes, err := catalogue.Classify(ctx, before, w.commit.Tree, s.applied.Reads)
		if errors.Is(err, source.ErrNotFound) {
			return append(reasons, fmt.Sprintf("the tree of the applied commit %s is not in this repository", short(source.ID(s.applied.Commit)))), nil
		}
		if err != nil {
			return nil, &Error{Op: "compare with the applied commit", On: short(source.ID(s.applied.Commit)), Class: ErrSource, Err: err}
		}
		for _, c := range classes {
			p.Changes = append(p.Changes, PathChange{Path: c.Path, Class: string(c.Class), Images: c.Images})
			switch c.Class {
			case catalogue.ClassDeliver:
				reasons = append(reasons, c.Path+" changed, which is delivered")
			case catalogue.ClassUnknown:
				reasons = append(reasons, c.Path+" changed, which no pattern knows: declare it as an input, as delivery or as neutral")
			}
		}
	}
	for _, k := range s.applied.Images {
		if !slices.ContainsFunc(w.states, func(st catalogue.State) bool { return st.Image.Name == k.Name }) {
			reasons = append(reasons, fmt.Sprintf("image %s is gone from the catalogue", k.Name))
		}
		if k.Repository != l.Pull+"/"+k.Name {
			reasons = append(reasons, fmt.Sprintf("image %s moved from %s", k.Name, k.Repository))
		}
	}
	return reasons, nil
}

// inRecord says whether a record has an image of that name and fingerprint.
func inRecord(r *receipt.Record, name, fingerprint string) bool {
	return r != nil && slices.ContainsFunc(r.Images, func(k receipt.Image) bool { return k.Name == name && k.Fingerprint == fingerprint })
}

const provenUnchanged = "the target is what the commit asks for"

// proveUnchanged looks at the target's objects: they must all be there, healthy
// and as the live receipt left them. It returns the proof, which begins with
// provenUnchanged, or the reasons for a delivery.
func (l *Lifecycle) proveUnchanged(ctx context.Context, w *want, s *situation, p Plan) ([]string, error) {
	if reasons, err := l.looksOtherwise(ctx, s); err != nil || len(reasons) > 0 {
		return reasons, err
	}
	changed := "its tree is the one of the live receipt " + s.pointers.Live.Short()
	if len(p.Changes) > 0 {
		changed = fmt.Sprintf("what differs from the live receipt %s reaches no image and no manifest: %s",
			s.pointers.Live.Short(), firstPaths(p.Changes, 5))
	}
	return []string{
		provenUnchanged,
		changed,
		fmt.Sprintf("every image (%d) has the fingerprint of the live receipt, and the registry answers for its digest", len(w.states)),
		fmt.Sprintf("every object (%d) is there, healthy, and as the live receipt left it", len(s.live.Objects)),
		"nobody else holds the lease, and the applied receipt is the live one",
	}, nil
}

// looksOtherwise returns how the target differs from what the live receipt left:
// nothing if every object is there, healthy and undrifted.
func (l *Lifecycle) looksOtherwise(ctx context.Context, s *situation) (reasons []string, err error) {
	if s.seen == nil {
		return []string{"it is not recorded what the live receipt looked like on the target"}, nil
	}
	seen, err := l.Deliverer.Observe(ctx, l.observe(s.live, s))
	if err != nil {
		return nil, err
	}
	for _, u := range seen.Unready {
		reasons = append(reasons, fmt.Sprintf("%s is not healthy: %s", ObjectName(u.Object), u.Reason))
	}
	for _, d := range seen.Drifted {
		reasons = append(reasons, fmt.Sprintf("%s drifted: %s", ObjectName(d.Object), d.Reason))
	}
	return reasons, nil
}

func firstPaths(changes []PathChange, n int) string {
	out := ""
	for i, c := range changes {
		if i == n {
			return out + ", …"
		}
		if i > 0 {
			out += ", "
		}
		out += c.Path
	}
	return out
}
