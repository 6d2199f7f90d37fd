package takeover

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// sameCluster refuses a session of another cluster: what is not there would be taken for
// gone.
func (s *Session) sameCluster(ctx context.Context) error {
	uid, err := s.Lifecycle.Cluster.UID(ctx)
	if err != nil {
		return lifecycle.TargetError(err)
	}
	if uid != s.doc.Cluster {
		return &lifecycle.BlockedError{Reason: fmt.Sprintf("the takeover of this checkout is of another cluster: it names %s, this one is %s", s.doc.Cluster, uid),
			Next: "Choose the cluster with --context."}
	}
	return nil
}

// load reads the journal.
func (s *Session) load() (there bool, err error) {
	doc, version, err := readJournal(s.file)
	switch {
	case errors.Is(err, journal.ErrNone):
		s.version = version
		return false, nil
	case err != nil:
		return false, err
	case doc.Target != s.Lifecycle.Target || doc.Namespace != s.Namespace:
		return false, &lifecycle.BlockedError{Reason: fmt.Sprintf("this checkout has taken over target %q, and one at a time can be", doc.Target),
			Next: "Hand it back first: kubectl pharos handback --target " + doc.Target}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doc, s.version, s.id, s.resumed = doc, version, doc.Session, true
	return true, nil
}

// findOut looks what has become of a session that goes on, or is handed back: whether it
// is of this cluster, and what the journal does not have of it.
func (s *Session) findOut(ctx context.Context) error {
	if err := s.sameCluster(ctx); err != nil {
		return err
	}
	return s.catchUp(ctx)
}

// catchUp takes over what the session object knows and the journal does not, since that
// could not be written: a later lease, and what was diverted.
func (s *Session) catchUp(ctx context.Context) error {
	o, err := s.store.Load(ctx)
	switch {
	case errors.Is(err, journal.ErrNone), errors.Is(err, journal.ErrDamaged):
		return nil
	case err != nil:
		return lifecycle.TargetError(err)
	case o.Document.Session != s.doc.Session:
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doc = merged(s.doc, o.Document)
	return nil
}

// merged is what is known of a session by its journal and its session object, which is
// written after that. To put back what was not diverted does no harm.
func merged(local, object journal.Document) journal.Document {
	if object.Token > local.Token {
		object.Key = local.Key
		return object
	}
	if object.Token < local.Token || len(object.Workloads) != len(local.Workloads) {
		return local
	}
	local.Workloads = slices.Clone(local.Workloads)
	for i, w := range object.Workloads {
		if w.State == journal.Diverting && local.Workloads[i].State == journal.Untouched {
			local.Workloads[i] = w
		}
	}
	return local
}

// remember finds the workloads of a session that goes on.
func (s *Session) remember(ctx context.Context) error {
	facts, err := s.Facts(ctx)
	if err != nil {
		return err
	}
	if err := s.fits(facts); err != nil {
		return err
	}
	var workloads []Workload
	for _, w := range s.doc.Workloads {
		if w.State == journal.HandedBack {
			continue
		}
		again, err := facts.again(w.Diversion)
		if err != nil {
			return err
		}
		workloads = append(workloads, again)
	}
	if err := s.prepare(facts, workloads); err != nil {
		return err
	}
	for _, p := range s.parts {
		p.agent = s.diversion(p).Agent
	}
	return nil
}

// again is a workload of a session that goes on.
func (f Facts) again(d divert.Diversion) (Workload, error) {
	for _, o := range f.Declared {
		if !o.isDeployment() || o.Namespace != d.Namespace || o.Name != d.Name {
			continue
		}
		found, err := uses(o, f.Record)
		if err != nil {
			return Workload{}, err
		}
		for _, u := range found {
			if u.container != d.Container {
				continue
			}
			img, there := f.image(u.image)
			if !there || img.Run == nil {
				return Workload{}, &lifecycle.BlockedError{Reason: fmt.Sprintf("%s: pharos.yaml does not say any more how image %s runs on a workstation", d.Subject, u.image),
					Next: "Put that back, or hand the workload back: kubectl pharos handback"}
			}
			w := Workload{Namespace: d.Namespace, Name: d.Name, Container: d.Container, Image: u.image, Application: o.By, Declared: o.JSON, Live: d.Original}
			w.describe(img)
			return w, nil
		}
	}
	return Workload{}, &lifecycle.BlockedError{Reason: fmt.Sprintf("%s is not what it was when it was taken over: the live receipt has no such container of an image of the catalogue", d.Subject),
		Next: "Hand it back: kubectl pharos handback"}
}
