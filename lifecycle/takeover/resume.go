package takeover

import (
	"context"
	"errors"
	"fmt"

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
	s.doc, s.version, s.id = doc, version, doc.Session
	return true, nil
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
