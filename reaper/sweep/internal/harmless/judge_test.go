package harmless

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/keys"
)

// verdict is what came of judging all that sweeps did.
type verdict struct {
	findings []string
	// deletions are those that the server did, by resource; refused those that it did
	// not, since their object had changed, and unheard those of which it said neither;
	// raced are namespaces into which something was put between the second look and the
	// deletion.
	deletions               map[string]int
	refused, unheard, raced int
	// marked is since when namespaces are marked that are, by whomever: a fresh mark is
	// as good as an own one.
	marked map[place]time.Time
}

// place is where an object is.
type place struct{ resource, namespace, name string }

func placeOf(e devenv.AuditEvent) place {
	p := place{e.Resource, e.Namespace, e.Name}
	if e.Resource == "namespaces" {
		p.namespace = "" // requests for one are in it
	}
	return p
}

// sweeper is when one client did what last.
type sweeper struct {
	read   map[place]time.Time
	asked  map[string]time.Time // to delete what has this UID
	looked map[place]time.Time  // at all of a resource in a namespace; the name is empty
}

// judge judges all requests of sweeps, which have a name of their own each as their
// user agent, in their order.
func judge(events []devenv.AuditEvent, h *history) verdict {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := verdict{deletions: map[string]int{}, marked: map[place]time.Time{}}
	sweepers := map[string]*sweeper{}
	for _, e := range events {
		s := sweepers[e.UserAgent]
		if s == nil {
			s = &sweeper{map[place]time.Time{}, map[string]time.Time{}, map[place]time.Time{}}
			sweepers[e.UserAgent] = s
		}
		p := placeOf(e)
		switch e.Verb {
		case "get":
			s.read[p] = e.Received
		case "watch":
		case "list":
			s.looked[place{e.Resource, e.Namespace, ""}] = e.Received
		case "patch":
			marks, err := onlyMarks(e)
			switch {
			case err != nil && !cutOff(e):
				v.find(e, "%v", err)
			case e.Code >= 300:
			case marks:
				v.marked[p] = e.Received
			default:
				delete(v.marked, p)
			}
		case "delete":
			v.deletion(e, p, s, h)
		default:
			v.find(e, "a sweep does no such thing")
		}
	}
	return v
}

func (v *verdict) find(e devenv.AuditEvent, format string, args ...any) {
	v.findings = append(v.findings, fmt.Sprintf("%s %s %s by %s: %s", e.Received.Format(time.RFC3339Nano), e.Verb, e.RequestURI, e.UserAgent, fmt.Sprintf(format, args...)))
}

// onlyMarks says whether a patch sets the mark of a namespace, or takes it away; the
// error is what else it writes.
func onlyMarks(e devenv.AuditEvent) (marks bool, err error) {
	var patch struct {
		Metadata map[string]any `json:"metadata"`
	}
	if err := json.Unmarshal(e.Request, &patch); err != nil || e.Resource != "namespaces" {
		return false, fmt.Errorf("it patches a %s, %v", e.Resource, err)
	}
	annotations, _ := patch.Metadata["annotations"].(map[string]any)
	delete(patch.Metadata, "annotations")
	if patch.Metadata["uid"] == nil || patch.Metadata["resourceVersion"] == nil {
		return false, fmt.Errorf("it patches without saying what: %s", e.Request)
	}
	written := append(slices.Sorted(maps.Keys(patch.Metadata)), slices.Sorted(maps.Keys(annotations))...)
	if want := []string{"resourceVersion", "uid", keys.Ending}; !slices.Equal(written, want) {
		return false, fmt.Errorf("it writes %q, want %q", written, want)
	}
	return annotations[keys.Ending] != nil, nil
}

// deletion judges one deletion, also one that the server refused: what it meant has to
// be what may be deleted.
func (v *verdict) deletion(e devenv.AuditEvent, p place, s *sweeper, h *history) {
	if cutOff(e) {
		v.refused++
		return
	}
	uid, resourceVersion := e.Preconditions()
	if uid == "" || resourceVersion == "" {
		v.find(e, "its preconditions are UID %q and resourceVersion %q, and the server said %d", uid, resourceVersion, e.Code)
		return
	}
	meant, next := h.at(uid, resourceVersion)
	if meant == nil {
		v.find(e, "there was no version %s of %s", resourceVersion, uid)
		return
	}
	// Another object of this name may be looked at at the same time.
	if read := s.read[p]; read.Before(meant.meta.CreationTimestamp.Time) || read.Before(s.asked[uid]) {
		v.find(e, "it did not read it before")
	}
	if e.Code != 429 && e.Code < 500 { // else the client sends it again by itself
		s.asked[uid] = e.Received
	}
	if got := (place{meant.resource, meant.meta.Namespace, meant.meta.Name}); got != p {
		v.find(e, "version %s is of %v", resourceVersion, got)
	}
	if why := forbids(e.Resource, meant.meta, e.Received); why != "" {
		v.find(e, "%s: %v %v", why, meant.meta.Labels, meant.meta.Annotations)
	}
	switch {
	case e.Code == 404, e.Code == 409, e.Code == 429:
		v.refused++
		return
	case e.Code >= 500: // such as for a client that was killed: it may have been done
		v.unheard++
		return
	case e.Code >= 300:
		v.find(e, "the server said %d", e.Code)
		return
	}
	v.deletions[e.Resource]++
	if next == nil || !next.gone && next.meta.DeletionTimestamp == nil {
		v.find(e, "version %s was not the last one", resourceVersion)
		return
	}
	if e.Resource == "namespaces" {
		v.namespace(e, next.revision, s, h)
	}
}

// cutOff says that the client was killed before it had sent all of its request, which
// the server refused therefore.
func cutOff(e devenv.AuditEvent) bool { return len(e.Request) == 0 && e.Code >= 400 }

// namespace judges what was in a namespace when its end began.
func (v *verdict) namespace(e devenv.AuditEvent, revision int64, s *sweeper, h *history) {
	raced := false
	for _, in := range h.in(e.Name, revision) {
		why := outlives(in.meta)
		if why == "" {
			continue
		}
		looked := s.looked[place{in.resource, e.Name, ""}]
		if looked.Before(in.heard) {
			raced = true
			continue
		}
		v.find(e, "%s %s was in it and to outlive it, when it was looked at: %s", in.resource, in.meta.Name, why)
	}
	if raced {
		v.raced++
	}
	marked, is := v.marked[placeOf(e)]
	for _, resource := range []string{"configmaps", "leases"} {
		if looked := s.looked[place{resource, e.Name, ""}]; !is || looked.Before(marked) {
			v.find(e, "its %s were not looked at after it was marked", resource)
		}
	}
}
