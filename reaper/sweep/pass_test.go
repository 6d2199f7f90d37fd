package sweep_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/sweep"
)

// pass sweeps the world's namespace for these resources.
func (w world) pass(e *sweep.Ender, o sweep.PassOptions, resources ...string) sweep.Report {
	w.t.Helper()
	o.Namespace, o.Resources = w.ns, resources
	report, err := e.Pass(w.t.Context(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	return report
}

func TestPassTellsWhatItDid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	user, name := devtest.User(t, w.cluster, w.ns, devtest.Rights{Existing: "admin"})
	audit := devtest.RecordAudit(t, w.cluster)
	w.configMap(metav1.ObjectMeta{Name: "nothing-said"})
	w.configMap(transient("over-1", past))
	w.configMap(transient("over-2", past))
	w.configMap(transient("waits", later()))
	w.configMap(transient("endless", nil))
	w.configMap(metav1.ObjectMeta{Name: "misspelt", Labels: map[string]string{keys.Intent: "transiet"}})
	w.configMap(metav1.ObjectMeta{Name: "retained", Labels: map[string]string{keys.Intent: "retained"}})
	w.claim(transient("claim", past))

	want := sweep.Counts{Seen: 6, WouldDelete: 3, Waiting: 1, Refused: 2}
	var told []string
	each := func(i sweep.Item) { told = append(told, fmt.Sprint(i.Outcome, " ", i.Resource, " ", i.Object.Name)) }
	dry := w.pass(ender(t, user, func(c *sweep.Config) { c.DryRun = true }), sweep.PassOptions{Each: each}, "configmaps", "persistentvolumeclaims")
	if dry.Counts != want || !dry.DryRun || dry.Clean() {
		t.Errorf("the dry run: got %+v", dry)
	}
	slices.Sort(told)
	if !slices.Equal(told, []string{"WouldDelete configmaps over-1", "WouldDelete configmaps over-2", "WouldDelete persistentvolumeclaims claim"}) {
		t.Errorf("the dry run tells of %q", told)
	}
	byUser := func(e devenv.AuditEvent) bool { return e.User == name }
	for _, e := range audit.Events(t, byUser) {
		if e.Verb != "get" && e.Verb != "list" {
			t.Errorf("the dry run made a %s of %s", e.Verb, e.RequestURI)
		}
	}

	want.Deleted, want.WouldDelete = want.WouldDelete, 0
	report := w.pass(ender(t, user), sweep.PassOptions{}, "configmaps", "persistentvolumeclaims")
	if report.Counts != want || len(report.Resources) != 2 || report.Resources[0].Resource != "configmaps" || report.Resources[0].Deleted != 2 {
		t.Errorf("got %+v", report)
	}
	var findings []string
	for _, f := range report.Findings {
		findings = append(findings, f.Name+" "+string(f.Reason))
	}
	if !slices.Equal(findings, []string{"endless NoEnd", "misspelt BadIntent"}) || !slices.EqualFunc(dry.Findings, report.Findings, func(a, b sweep.Finding) bool { return a.UID == b.UID && a.Message == b.Message }) {
		t.Errorf("findings: got %q, in the dry run %+v", findings, dry.Findings)
	}
	if report.Started.IsZero() || report.Ended.Before(report.Started) {
		t.Errorf("from %s to %s", report.Started, report.Ended)
	}

	// Each was read after the list, and right before it was deleted.
	deletes, read := 0, map[string]bool{}
	for _, e := range audit.Events(t, byUser) {
		switch e.Verb {
		case "get":
			read[e.RequestURI] = true
		case "delete":
			deletes++
			uid, rv := e.Preconditions()
			if uid == "" || rv == "" || !strings.Contains(string(e.Request), `"propagationPolicy":"Background"`) || !read[e.RequestURI] {
				t.Errorf("%s was deleted with %s, read: %t", e.RequestURI, e.Request, read[e.RequestURI])
			}
		}
	}
	if deletes != 3 {
		t.Errorf("%d deletions, want 3", deletes)
	}
	if again := w.pass(ender(t, user), sweep.PassOptions{}, "configmaps"); again.Counts.Deleted != 0 || again.Counts.Waiting != 1 {
		t.Errorf("the next pass: got %+v", again)
	}
}

func TestPassEndsChildrenWithTheirNamespace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.over()
	w.configMap(transient("child", past))
	for _, dry := range []bool{true, false} {
		report := w.pass(w.ender(func(c *sweep.Config) { c.DryRun = dry }), sweep.PassOptions{}, "configmaps", "namespaces")
		if c := report.Counts; c.Deleted+c.WouldDelete != 1 || c.Failed != 0 || !report.Clean() {
			t.Errorf("dry run %t: got %+v", dry, report)
		}
	}
	w.wantEnding()
}

func TestPassGoesOnWhenADeletionFails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rule   faultproxy.Rule
		counts sweep.Counts
	}{
		"for good":        {faultproxy.Rule{Do: faultproxy.Answer(http.StatusInternalServerError)}, sweep.Counts{Seen: 3, Deleted: 2, Failed: 1}},
		"once":            {faultproxy.Rule{Times: 1, Do: faultproxy.Answer(http.StatusInternalServerError)}, sweep.Counts{Seen: 3, Deleted: 3}},
		"forbidden":       {faultproxy.Rule{Do: faultproxy.Answer(http.StatusForbidden)}, sweep.Counts{Seen: 3, Deleted: 2, Failed: 1}},
		"conflict, once":  {faultproxy.Rule{Times: 1, Do: faultproxy.Answer(http.StatusConflict)}, sweep.Counts{Seen: 3, Deleted: 3}},
		"conflict":        {faultproxy.Rule{Do: faultproxy.Answer(http.StatusConflict)}, sweep.Counts{Seen: 3, Deleted: 2, Failed: 1}},
		"busy":            {faultproxy.Rule{Times: 2, Do: faultproxy.TooManyRequests(0)}, sweep.Counts{Seen: 3, Deleted: 3}},
		"cut":             {faultproxy.Rule{Times: 1, Do: faultproxy.Cut()}, sweep.Counts{Seen: 3, Deleted: 3}},
		"cut when done":   {faultproxy.Rule{Times: 1, AfterUpstream: true, Do: faultproxy.Cut()}, sweep.Counts{Seen: 3, Deleted: 3}},
		"broken but done": {faultproxy.Rule{Times: 1, AfterUpstream: true, Do: faultproxy.Answer(http.StatusGatewayTimeout)}, sweep.Counts{Seen: 3, Deleted: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, name := range []string{"a", "b", "c"} {
				w.configMap(transient(name, past))
			}
			p, config := w.behind()
			tt.rule.Method, tt.rule.Path = http.MethodDelete, regexp.MustCompile("/configmaps/b$")
			fault := p.Add(tt.rule)
			report := w.pass(ender(t, config), sweep.PassOptions{}, "configmaps")
			if report.Counts != tt.counts || fault.Hits() == 0 {
				t.Errorf("got %+v, after %d faults; want %+v", report, fault.Hits(), tt.counts)
			}
			if tt.counts.Failed > 0 && (len(report.Findings) != 1 || report.Findings[0].Reason != sweep.Failed || report.Findings[0].Name != "b") {
				t.Errorf("findings: got %+v", report.Findings)
			}
		})
	}
}

func TestPassGoesOnWhenAKindIsForbidden(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	user, _ := devtest.User(t, w.cluster, w.ns, devtest.Rights{Namespaced: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "delete"}}}})
	w.configMap(transient("over", past))
	report := w.pass(ender(t, user), sweep.PassOptions{}, "configmaps", "jobs.batch", "pods")
	if report.Counts.Deleted != 1 || len(report.Gaps) != 2 || report.Gaps[0].What != "jobs.batch" || !strings.Contains(report.Gaps[1].Why, "forbidden") || report.Clean() {
		t.Errorf("got %+v", report)
	}
}

func (w world) many(n int, meta func(i int) metav1.ObjectMeta) {
	w.t.Helper()
	for i := range n {
		w.configMap(meta(i))
	}
}

// resumable answers a continued list as the API server does when it has forgotten the
// state: with where to go on in the newest one.
func resumable(f *faultproxy.Fault, w http.ResponseWriter, r *http.Request) bool {
	var token struct {
		Version string `json:"v"`
		RV      int64  `json:"rv"`
		Start   string `json:"start"`
	}
	raw, err := base64.RawURLEncoding.DecodeString(r.URL.Query().Get("continue"))
	if err != nil || json.Unmarshal(raw, &token) != nil {
		panic(fmt.Sprintf("the token %q", raw))
	}
	token.RV = -1
	raw, err = json.Marshal(token)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusGone)
	_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: http.StatusGone, Reason: metav1.StatusReasonExpired, ListMeta: metav1.ListMeta{Continue: base64.RawURLEncoding.EncodeToString(raw)}})
	return false
}

func TestPassWhoseListExpires(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.many(1100, func(i int) metav1.ObjectMeta {
		switch i % 100 {
		case 0:
			return transient(fmt.Sprintf("m%04d", i), past)
		case 1:
			return transient(fmt.Sprintf("m%04d", i), nil)
		}
		return transient(fmt.Sprintf("m%04d", i), later())
	})
	want := sweep.Counts{Seen: 1100, WouldDelete: 11, Refused: 11, Waiting: 1078}
	for name, do := range map[string]faultproxy.Action{"begins anew": faultproxy.Answer(http.StatusGone), "goes on": resumable} {
		p, config := w.behind()
		fault := p.Add(faultproxy.Rule{Method: http.MethodGet, Path: regexp.MustCompile("/configmaps$"), Times: 2, Do: do,
			Match: func(r *http.Request) bool { return r.URL.Query().Get("continue") != "" }})
		report := w.pass(ender(t, config, func(c *sweep.Config) { c.DryRun = true }), sweep.PassOptions{}, "configmaps")
		if report.Counts != want || len(report.Findings) != 11 || fault.Hits() != 2 || len(report.Gaps) != 0 {
			t.Errorf("%s: got %+v after %d faults, want %+v", name, report, fault.Hits(), want)
		}
		lists := 0
		for _, r := range p.Requests() {
			if r.Method == http.MethodGet && strings.HasSuffix(r.Path, "/configmaps") {
				lists++
			}
		}
		if want := map[string]int{"begins anew": 3 + 4, "goes on": 3 + 2}[name]; lists != want {
			t.Errorf("%s: %d pages were asked for, want %d", name, lists, want)
		}
	}
	want.Deleted, want.WouldDelete = want.WouldDelete, 0
	p, config := w.behind()
	p.Add(faultproxy.Rule{Method: http.MethodGet, Path: regexp.MustCompile("/configmaps$"), Times: 1, Do: faultproxy.Answer(http.StatusGone),
		Match: func(r *http.Request) bool { return r.URL.Query().Get("continue") != "" }})
	report := w.pass(ender(t, config), sweep.PassOptions{MaxFindings: 4}, "configmaps")
	if report.Counts != want || len(report.Findings) != 4 || report.FindingsOmitted != 7 {
		t.Errorf("got %+v, want %+v", report, want)
	}

	// A list that expires over and over, or fails, is a gap.
	for _, code := range []int{http.StatusGone, http.StatusInternalServerError} {
		p, config := w.behind()
		p.Add(faultproxy.Rule{Method: http.MethodGet, Path: regexp.MustCompile("/configmaps$"), Do: faultproxy.Answer(code),
			Match: func(r *http.Request) bool { return r.URL.Query().Get("continue") != "" }})
		report := w.pass(ender(t, config), sweep.PassOptions{}, "configmaps")
		if len(report.Gaps) != 1 || report.Gaps[0].What != "configmaps" {
			t.Errorf("%d: got %+v", code, report)
		}
	}
}

func TestPassReportsWhatIsStuck(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	meta := transient("stuck", past)
	meta.Finalizers = []string{"example.org/never"}
	m := w.configMap(meta)
	t.Cleanup(func() { w.freed(m.Name) })
	w.end(w.ender(), m, sweep.Deleted)
	if report := w.pass(w.ender(), sweep.PassOptions{}, "configmaps"); report.Counts.Kept != 1 || !report.Clean() {
		t.Errorf("at once: got %+v", report)
	}
	// By a clock that is ahead it is stuck.
	config := ahead(w.cluster.Config(), "25m")
	report := w.pass(ender(t, config), sweep.PassOptions{}, "configmaps")
	if report.Counts.Kept != 1 || len(report.Findings) != 1 || report.Findings[0].Reason != sweep.Stuck || !strings.Contains(report.Findings[0].Message, "for 25 minutes") {
		t.Errorf("25 minutes later: got %+v", report)
	}
}

// The clock is the API server's.
func TestServersClockCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.configMap(transient("short", map[string]string{keys.TTL: "1h"}))
	w.end(ender(t, ahead(w.cluster.Config(), "59m")), m, sweep.Waiting)
	w.end(ender(t, ahead(w.cluster.Config(), "-24h")), m, sweep.Waiting) // it was created in the future
	if _, err := ender(t, dateless(w.cluster.Config())).End(t.Context(), configMaps, w.ns, m.Name, string(m.UID)); err == nil || !strings.Contains(err.Error(), "Date") {
		t.Errorf("without a Date: %v", err)
	}
	w.end(ender(t, ahead(w.cluster.Config(), "61m")), m, sweep.Deleted)
}

func TestPassReadsForeignKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	janitor := func(key, value string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: strings.ReplaceAll(key, "/", "-"), Annotations: map[string]string{key: value}}
	}
	over, forever := w.configMap(janitor("janitor/expires", "2020-01-02")), w.configMap(janitor("janitor/ttl", "forever"))
	pharos := w.configMap(transient("ours", past))
	w.pass(w.ender(), sweep.PassOptions{}, "configmaps")
	if !w.exists(over) || w.exists(pharos) {
		t.Error("without being asked for, foreign keys were read")
	}
	report := w.pass(w.ender(func(c *sweep.Config) { c.Rules = reaper.Rules{Foreign: reaper.Foreigners} }), sweep.PassOptions{}, "configmaps")
	if w.exists(over) || !w.exists(forever) || report.Counts.Deleted != 1 {
		t.Errorf("got %+v", report)
	}
}

func TestPassStopsWithItsContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.many(30, func(i int) metav1.ObjectMeta { return transient(fmt.Sprintf("m%d", i), maps.Clone(past)) })
	ctx, cancel := contextWith(t)
	n := 0
	report, err := w.ender(func(c *sweep.Config) { c.ConcurrentDeletes = 1 }).Pass(ctx, sweep.PassOptions{Resources: []string{"configmaps"}, Namespace: w.ns,
		Each: func(sweep.Item) {
			if n++; n == 5 {
				cancel()
			}
		}})
	if err == nil || report.Counts.Deleted < 5 || report.Counts.Deleted > 6 {
		t.Errorf("got %+v, %v", report.Counts, err)
	}
}
