package racetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// judge looks at what the API server was asked, and at what holders wrote. last is
// the token that was given last.
func (r *race) judge(audit *devtest.Audit, last int64) {
	r.t.Helper()
	events := audit.Events(r.t, devtest.InNamespace(r.Setup.Namespace))
	holders := r.judgeLease(events)
	first := holders.first(last)
	for token := first; token <= last; token++ {
		if holders.sure[token] == "" && len(holders.maybe[token]) == 0 {
			r.t.Errorf("nobody has token %d of %d: the writes with it were answered with %v", token, last, holders.answers[token])
		}
	}
	times := int(last-first) + 1
	r.t.Logf("the lease was acquired %d times", times)
	if times < r.Rounds/2 {
		r.t.Errorf("in %d rounds the lease was acquired %d times: that proves nothing", r.Rounds, times)
	}
	if r.Judge != nil {
		r.Judge(events)
	}
	r.judgeObject(events, holders)
	r.judgeLog(holders)
}

// judgeLease wants the Lease to be written with its resourceVersion alone, and
// never to be deleted, and each token to be of one holder.
func (r *race) judgeLease(events []devenv.AuditEvent) holders {
	r.t.Helper()
	found := holders{sure: map[int64]string{}, maybe: map[int64][]string{}, answers: map[int64][]int{}}
	tokens := map[string]int64{}
	for _, e := range events {
		if e.Resource != "leases" || e.Verb == "get" || len(e.Request) == 0 && e.Code >= 400 {
			continue // the latter was cut short by a kill
		}
		var l coordinationv1.Lease
		if err := json.Unmarshal(e.Request, &l); err != nil {
			r.t.Errorf("%s %s: %v, answered with %d", e.Verb, e.RequestURI, err, e.Code)
			continue
		}
		switch {
		case e.Verb == "create":
		case e.Verb != "update":
			r.t.Errorf("%s %s", e.Verb, e.RequestURI)
		case l.ResourceVersion == "":
			r.t.Errorf("%s %s without a resourceVersion: %s", e.Verb, e.RequestURI, e.Request)
		}
		token, holder := int64(ptr.Deref(l.Spec.LeaseTransitions, 0)), ptr.Deref(l.Spec.HolderIdentity, "")
		found.answers[token] = append(found.answers[token], e.Code)
		if mayBeDone(e) {
			found.maybe[token] = append(found.maybe[token], holder)
		}
		if mayBeDone(e) || e.Code >= 300 || holder == "" {
			continue
		}
		if h, ok := found.sure[token]; ok && h != holder {
			r.t.Errorf("token %d is that of %s and of %s", token, h, holder)
		}
		if t, ok := tokens[holder]; ok && t != token {
			r.t.Errorf("%s has the tokens %d and %d", holder, t, token)
		}
		found.sure[token], tokens[holder] = holder, token
	}
	return found
}

// holders are those who have acquired the lease, by their tokens, those who may
// have, and how writes of the Lease with that token were answered.
type holders struct {
	sure    map[int64]string
	maybe   map[int64][]string
	answers map[int64][]int
}

// has says whether a token is, or can be, that of a holder.
func (h holders) has(token int64, holder string) bool {
	return h.sure[token] == holder || h.sure[token] == "" && slices.Contains(h.maybe[token], holder)
}

// first is the lowest token that somebody has or may have, up to last.
func (h holders) first(last int64) int64 {
	for token := range h.answers {
		if token > 0 { // it was only created without
			last = min(last, token)
		}
	}
	return last
}

// mayBeDone says that the API server gave up on a write whose client was killed or
// had given up, which may have been done nevertheless.
func mayBeDone(e devenv.AuditEvent) bool { return e.Code == 0 || e.Code >= 499 }

// written is a guarded write.
type written struct {
	number, token int64
	holder        string
}

// judgeObject wants the writes of one holder to come after all of those before.
func (r *race) judgeObject(events []devenv.AuditEvent, holders holders) {
	r.t.Helper()
	var writes []written
	unclear := map[int64]bool{}
	for _, e := range events {
		if e.Resource != "configmaps" || e.Name != object || e.Verb != "update" || e.Code >= 300 && !mayBeDone(e) || len(e.Request) == 0 {
			continue
		}
		var c corev1.ConfigMap
		if err := json.Unmarshal(e.Request, &c); err != nil {
			r.t.Errorf("%s: %v", e.Request, err)
			continue
		}
		w := written{holder: c.Data["holder"]}
		var errs [2]error
		w.number, errs[0] = strconv.ParseInt(c.Data["number"], 10, 64)
		w.token, errs[1] = strconv.ParseInt(c.Data["token"], 10, 64)
		if errs != [2]error{} || c.ResourceVersion == "" {
			r.t.Errorf("%s", e.Request)
		}
		if unclear[w.number] = unclear[w.number] || mayBeDone(e); !mayBeDone(e) {
			writes = append(writes, w)
		}
	}
	slices.SortFunc(writes, func(a, b written) int { return cmp.Compare(a.number, b.number) })
	before := written{}
	for _, w := range writes {
		if w.number != before.number+1 && !(w.number == before.number+2 && unclear[w.number-1]) {
			r.t.Errorf("write %d comes after write %d", w.number, before.number)
		}
		if w.token < before.token {
			r.t.Errorf("write %d has token %d, the one before %d", w.number, w.token, before.token)
		}
		if !holders.has(w.token, w.holder) {
			r.t.Errorf("write %d is of %s, and its token %d of %s", w.number, w.holder, w.token, holders.sure[w.token])
		}
		before = w
	}
	r.t.Logf("%d writes with a precondition", len(writes))
}

// judgeLog wants the same of what nothing guards but the Check, unless that was
// longer on its way than the package says that it may be.
func (r *race) judgeLog(holders holders) {
	r.t.Helper()
	data, err := os.ReadFile(r.Setup.Log)
	if err != nil {
		r.t.Fatal(err)
	}
	type entry struct {
		token int64
		took  time.Duration
	}
	var entries []entry
	open := map[string]int{} // the last write of each holder
	for text := range strings.Lines(string(data)) {
		var what, holder string
		var e entry
		if _, err := fmt.Sscanln(text, &what, &e.token, &holder, &e.took); err != nil {
			r.t.Fatalf("the log says %q: %v", text, err)
		}
		if !holders.has(e.token, holder) {
			r.t.Errorf("the log says %q, and the holder is %s", text, holders.sure[e.token])
		}
		if what == "landed" {
			entries[open[holder]].took = e.took
			continue
		}
		open[holder] = len(entries)
		entries = append(entries, e)
	}
	var highest int64
	late := 0
	for i, e := range entries {
		if e.token < highest {
			if late++; e.took <= r.OnItsWay {
				r.t.Errorf("entry %d has token %d, after %d, although it was on its way for %s alone, which is no more than %s", i+1, e.token, highest, e.took, r.OnItsWay)
			}
		}
		highest = max(highest, e.token)
	}
	r.t.Logf("%d writes without one, of which %d were too long on their way", len(entries), late)
}
