package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/pharos-dev/pharos/receipt"
)

// Verification is what receipts came to that were checked.
type Verification struct {
	// Receipts are those that were checked, newest first.
	Receipts []receipt.ID
	// Images is how many digests the registry was asked for.
	Images int
	// Findings are all that is not as recorded, by receipt, in that order.
	Findings []VerifyFinding
}

// VerifyFinding is something that is not as a receipt says.
type VerifyFinding struct {
	// Receipt is the receipt; empty for the pointers.
	Receipt receipt.ID `json:"receipt,omitempty"`
	Subject string     `json:"subject"` // "record", "outcomes", "parent", "rollback", "pointers", "image web"
	Message string     `json:"message"`
}

// VerifyReceipts checks receipts of the target against what they say, all of them
// if none are named. It re-hashes each record and reads its outcomes, follows the
// chain from what is applied and live as far back as it is kept, and what rollbacks
// repeat, and asks the registry for every digest and all that its index names. It
// writes nothing.
//
// What is not as recorded is a finding, all of them together. Errors are those of
// [Lifecycle.Status], and of a registry that does not answer; what was found until
// then is beside them.
func (l *Lifecycle) VerifyReceipts(ctx context.Context, ids ...receipt.ID) (Verification, error) {
	v := &verifier{Lifecycle: l, links: map[receipt.ID]link{}, images: map[string][]use{}}
	err := v.run(ctx, ids)
	slices.SortStableFunc(v.Findings, func(a, b VerifyFinding) int {
		return slices.Index(v.Receipts, a.Receipt) - slices.Index(v.Receipts, b.Receipt)
	})
	return v.Verification, TargetError(err)
}

type verifier struct {
	*Lifecycle
	Verification
	mu     sync.Mutex
	links  map[receipt.ID]link // of the records that were read
	images map[string][]use    // by reference
}

// use is an image as a receipt names it.
type use struct {
	receipt receipt.ID
	image   receipt.Image
}

func (v *verifier) found(id receipt.ID, subject, format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.Findings = append(v.Findings, VerifyFinding{Receipt: id, Subject: subject, Message: fmt.Sprintf(format, args...)})
}

func (v *verifier) run(ctx context.Context, ids []receipt.ID) error {
	clusterUID, err := v.Cluster.UID(ctx)
	if err != nil {
		return err
	}
	pointers, err := v.Lifecycle.Receipts.Pointers(ctx)
	if err != nil && !errors.Is(err, receipt.ErrCorrupt) {
		return fmt.Errorf("read the pointers of target %q: %w", v.Target, err)
	}
	if err != nil {
		v.found("", "pointers", "%v", err)
	}
	list, err := v.Lifecycle.Receipts.List(ctx)
	if err != nil {
		return fmt.Errorf("list the receipts of target %q: %w", v.Target, err)
	}
	there := map[receipt.ID]bool{}
	for _, s := range list {
		there[s.ID] = true
		if len(ids) == 0 || slices.Contains(ids, s.ID) {
			v.Verification.Receipts = append(v.Verification.Receipts, s.ID)
		}
	}
	for _, id := range ids {
		if !there[id] {
			v.found(id, "record", "it is not there")
		}
	}
	if err := v.records(ctx, clusterUID, pointers); err != nil {
		return err
	}
	if err := v.chain(ctx, pointers, there, len(ids) == 0); err != nil {
		return err
	}
	if len(ids) == 0 {
		ids, err = v.kept(ctx, list, pointers)
		if err != nil {
			return err
		}
	}
	v.repeated(ids, there)
	return v.askRegistry(ctx)
}

// link is what a record says of others. One that cannot be read says nothing here,
// and is found elsewhere.
func (v *verifier) link(ctx context.Context, id receipt.ID) (link, error) {
	if l, read := v.links[id]; read {
		return l, nil
	}
	read, err := v.Lifecycle.links(ctx, id)
	if err != nil && !unusable(err) {
		return link{}, err
	}
	v.links[id] = read[id]
	return read[id], nil
}

// chain follows the receipts before what is applied and live, which are kept as
// far back as orphans are searched for.
func (v *verifier) chain(ctx context.Context, p receipt.Pointers, there map[receipt.ID]bool, all bool) error {
	for _, at := range []struct {
		is string
		id receipt.ID
	}{{"applied", p.Applied}, {"live", p.Live}} {
		if at.id != "" && !there[at.id] && all {
			v.found(at.id, "pointers", "the %s receipt is gone", at.is)
		}
		if at.is == "live" && at.id == p.Applied {
			continue
		}
		child := at.id
		for depth := 0; depth < orphanDepth && there[child]; depth++ {
			l, err := v.link(ctx, child)
			if err != nil {
				return err
			}
			if l.parent != "" && !there[l.parent] && slices.Contains(v.Verification.Receipts, child) {
				v.found(child, "parent", "the receipt before it, %s, is gone: what that delivered and is not needed any more is not found among the orphans", l.parent)
			}
			child = l.parent
		}
	}
	return nil
}

// kept are the receipts of a list that are not only left to be dropped.
func (v *verifier) kept(ctx context.Context, list []receipt.Summary, p receipt.Pointers) (ids []receipt.ID, err error) {
	if v.Keep > 0 {
		list = list[:min(v.Keep, len(list))]
	}
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	is, err := needed(ids, p, func(id receipt.ID) (link, error) { return v.link(ctx, id) })
	return slices.Collect(maps.Keys(is)), err
}

// repeated wants what rollbacks repeat to be there.
func (v *verifier) repeated(ids []receipt.ID, there map[receipt.ID]bool) {
	for _, id := range ids {
		if to := v.links[id].rollbackOf; to != "" && !there[to] {
			v.found(id, "rollback", "the receipt that it repeats, %s, is gone: a rollback from here does not find what was live before that", to)
		}
	}
}

// records reads the records and the outcomes.
func (v *verifier) records(ctx context.Context, clusterUID string, p receipt.Pointers) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for _, id := range v.Verification.Receipts {
		g.Go(func() error {
			r, err := v.Lifecycle.Receipts.Get(ctx, id)
			switch {
			case unusable(err):
				v.found(id, "record", "%v", err)
			case err != nil:
				return fmt.Errorf("read receipt %s: %w", id.Short(), err)
			default:
				v.record(id, r, clusterUID)
			}
			outcomes, err := v.Lifecycle.Receipts.Outcomes(ctx, id)
			switch {
			case unusable(err):
				v.found(id, "outcomes", "%v", err)
			case err != nil:
				return fmt.Errorf("read the outcomes of receipt %s: %w", id.Short(), err)
			case id == p.Live && !slices.ContainsFunc(outcomes, func(o receipt.Outcome) bool { return o.Type == receipt.OutcomeLive }):
				v.found(id, "outcomes", "none of them says that it was live, and the pointers do")
			}
			return nil
		})
	}
	return g.Wait()
}

func (v *verifier) record(id receipt.ID, r receipt.Record, clusterUID string) {
	if r.Target.Name != v.Target {
		v.found(id, "record", "it is of target %q", r.Target.Name)
	}
	if r.Target.ClusterUID != clusterUID {
		v.found(id, "record", "%v", &foreignError{names: r.Target.ClusterUID, is: clusterUID})
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.links[id] = linkOf(r)
	for _, img := range r.Images {
		repository := img.Repository // as the target pulls it
		if repository == v.Pull+"/"+img.Name {
			repository = v.Push + "/" + img.Name
		}
		v.images[repository+"@"+img.Digest] = append(v.images[repository+"@"+img.Digest], use{id, img})
	}
}

// askRegistry asks for each digest once, however many receipts name it.
func (v *verifier) askRegistry(ctx context.Context) error {
	v.Images = len(v.images)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for reference, uses := range v.images {
		g.Go(func() error {
			img := uses[0].image
			repository := reference[:len(reference)-len("@")-len(img.Digest)]
			there, err := v.Registry.Verify(ctx, repository, Digest(img.Digest))
			if err != nil && !errors.Is(err, ErrImageNotFound) {
				return err
			}
			for _, u := range uses {
				switch subject := "image " + u.image.Name; {
				case err != nil:
					v.found(u.receipt, subject, "%v", err)
				case there.Fingerprint != "" && string(there.Fingerprint) != u.image.Fingerprint:
					v.found(u.receipt, subject, "%s says that it was built from fingerprint %s, and the receipt says %s", reference, there.Fingerprint, u.image.Fingerprint)
				default:
					for _, p := range u.image.Platforms {
						if !slices.Contains(there.Platforms, p) {
							v.found(u.receipt, subject, "%s has no image for the platform %s", reference, p)
						}
					}
				}
			}
			return nil
		})
	}
	return g.Wait()
}
