package argocd

import (
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/argo"
)

// parts of Applications, as JSON.
const (
	revision  = "0123456789012345678901234567890123456789"
	source    = `"source":{"repoURL":"r","path":"p"}`
	healing   = `"spec":{` + source + `,"syncPolicy":{"automated":{"selfHeal":true}}}`
	automated = `"spec":{` + source + `,"syncPolicy":{"automated":{}}}`
	manual    = `"spec":{` + source + `}`
	outOfSyn  = `"sync":{"status":"OutOfSync","revision":"` + revision + `","comparedTo":{` + source + `}}`
	inSync    = `"sync":{"status":"Synced","revision":"` + revision + `","comparedTo":{` + source + `}}`
	succeeded = `"operationState":{"phase":"Succeeded","finishedAt":"2026-11-30T11:00:00Z","operation":{"sync":{}},"syncResult":{"revision":"` + revision + `",` + source + `}}`
	broken    = `"operationState":{"phase":"Failed","message":"no","finishedAt":"2026-11-30T11:00:00Z","operation":{"sync":{}},"syncResult":{"revision":"` + revision + `",` + source + `}}`
	elsewhere = `"operationState":{"phase":"Failed","finishedAt":"2026-11-30T11:00:00Z","operation":{"sync":{}},"syncResult":{"revision":"other",` + source + `}}`
	running   = `"operationState":{"phase":"Running","operation":{"sync":{},"initiatedBy":{"username":"ann"}}}`
	parked    = `"operationState":{"phase":"Running","message":"Sync operation blocked by sync window","operation":{"sync":{}}}`
	seen      = `"reconciledAt":"2026-11-30T12:00:00Z"`
	here      = `"history":[{"revision":"old",` + source + `},{"revision":"` + revision + `",` + source + `}]`
	there     = `"history":[{"revision":"` + revision + `",` + source + `},{"revision":"other",` + source + `}]`
	asked     = `"metadata":{"annotations":{"argocd.argoproj.io/refresh":"normal"}}`
)

func app(parts ...string) string {
	var top, status []string
	for _, p := range parts {
		if key, _, _ := strings.Cut(p, ":"); key == `"spec"` || key == `"metadata"` || key == `"operation"` {
			top = append(top, p)
		} else {
			status = append(status, p)
		}
	}
	return "{" + strings.Join(append(top, `"status":{`+strings.Join(status, ",")+"}"), ",") + "}"
}

func TestSettle(t *testing.T) {
	t.Parallel()
	before := argo.LastOf(application(t, app(broken)))
	looked := past{asked: true, before: before}
	late := past{asked: true, before: before, lasts: time.Minute}
	synced := past{asked: true, synced: true, before: before}
	others := &argo.Closed{Reason: "closed by others"}
	for name, tt := range map[string]struct {
		app  string
		past past
		do   action
		says string
	}{
		"gone":                        {"", past{}, settled, ""},
		"being deleted":               {`{"metadata":{"deletionTimestamp":"2026-11-30T12:00:00Z"}}`, past{}, settled, ""},
		"parked":                      {app(healing, outOfSyn, parked, `"operation":{}`), past{}, unpark, ""},
		"parked later":                {app(healing, outOfSyn, parked), looked, unpark, ""},
		"parked by others":            {app(healing, outOfSyn, parked), past{asked: true, closed: others}, blocked, "closed by others"},
		"in sync as of before":        {app(healing, inSync, succeeded, seen), past{}, refresh, ""},
		"somebody asked":              {app(healing, inSync, succeeded, seen, asked), past{}, wait, "has not answered"},
		"asked":                       {app(healing, inSync, succeeded, seen, asked), looked, wait, "has not answered"},
		"not heard":                   {app(healing, inSync, succeeded, seen, asked), late, nudge, ""},
		"not heard while it runs":     {app(healing, inSync, running, seen, asked), late, wait, "has not answered"},
		"runs":                        {app(healing, outOfSyn, running, seen), past{}, wait, "begun by ann"},
		"runs on":                     {app(healing, outOfSyn, running, seen), late, wait, "begun by ann"},
		"in sync":                     {app(healing, inSync, succeeded, seen), late, settled, ""},
		"in sync, as far as known":    {app(healing, inSync, succeeded, seen), looked, wait, "as far as the controller knows"},
		"in sync and unhealthy":       {app(healing, inSync, succeeded, seen, `"health":{"status":"Degraded"}`), late, settled, ""},
		"in sync, failed before":      {app(healing, inSync, broken, seen), late, settled, ""},
		"heals":                       {app(healing, outOfSyn, succeeded, seen), looked, wait, "Argo CD restores"},
		"heals not":                   {app(healing, outOfSyn, succeeded, seen), late, resync, ""},
		"self-heal off":               {app(automated, outOfSyn, succeeded, seen), looked, resync, ""},
		"self-heal off, new revision": {app(automated, outOfSyn, elsewhere, seen), looked, wait, "Argo CD restores"},
		"failed before":               {app(healing, outOfSyn, broken, seen), looked, resync, ""},
		"no operation yet":            {app(healing, outOfSyn, seen), looked, wait, "Argo CD restores"},
		"manual, at it before":        {app(manual, outOfSyn, succeeded, seen, here), looked, resync, ""},
		"manual, elsewhere before":    {app(manual, outOfSyn, succeeded, seen, there), looked, failed, "its policy is manual"},
		"manual, never":               {app(manual, outOfSyn, seen), looked, failed, "argocd app sync"},
		"closed by others":            {app(automated, outOfSyn, succeeded, seen), past{asked: true, closed: others}, blocked, "closed by others"},
		"synced just now":             {app(automated, outOfSyn, succeeded, seen), synced, wait, "OutOfSync"},
		"synced in vain":              {app(automated, outOfSyn, succeeded, seen), past{asked: true, synced: true, lasts: time.Minute, before: before}, failed, "still differs"},
		"sync failed":                 {app(automated, outOfSyn, broken, seen), past{asked: true, synced: true}, failed, "its sync failed"},
		"not looked at since":         {app(healing, inSync, succeeded, `"reconciledAt":"2026-11-30T10:00:00Z"`), looked, wait, "since its last operation"},
		"not looked at for long":      {app(healing, inSync, succeeded, `"reconciledAt":"2026-11-30T10:00:00Z"`), late, refresh, ""},
		"Git server away":             {app(healing, seen, `"conditions":[{"type":"ComparisonError","message":"dial tcp: connection refused"}]`), looked, wait, "does not answer"},
		"Git server away for long":    {app(healing, seen, `"conditions":[{"type":"ComparisonError","message":"dial tcp: connection refused"}]`), late, refresh, ""},
		"manifests that are none":     {app(healing, seen, `"conditions":[{"type":"ComparisonError","message":"kustomize build failed"}]`), looked, failed, "kustomize build"},
		"project that does not allow": {app(healing, seen, `"conditions":[{"type":"InvalidSpecError","message":"not permitted"}]`), looked, failed, "not permitted"},
		"several, at other revisions": {app(`"spec":{"sources":[{"path":"a"},{"path":"b"}]}`, `"sync":{"status":"OutOfSync","revisions":["1","2"],"comparedTo":{"sources":[{"path":"a"},{"path":"b"}]}}`, seen, `"history":[{"revisions":["1","3"],"sources":[{"path":"a"},{"path":"b"}]}]`), looked, failed, "1, 2"},
		"several, at the same":        {app(`"spec":{"sources":[{"path":"a"},{"path":"b"}]}`, `"sync":{"status":"OutOfSync","revisions":["1","2"],"comparedTo":{"sources":[{"path":"a"},{"path":"b"}]}}`, seen, `"history":[{"revisions":["1","2"],"sources":[{"path":"a"},{"path":"b"}]}]`), looked, resync, ""},
		"only to be pruned":           {app(automated, outOfSyn, succeeded, seen, `"resources":[{"kind":"Service","name":"x","status":"OutOfSync","requiresPruning":true}]`), late, settled, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var a *argo.Application
			if tt.app != "" {
				a = application(t, tt.app)
			}
			got := settle(a, tt.past)
			if got.do != tt.do || !strings.Contains(got.reason, tt.says) {
				t.Errorf("got %+v, want %s, saying %q", got, tt.do, tt.says)
			}
			if writes := got.ops(a) != nil; writes != (got.do == unpark || got.do == refresh || got.do == nudge || got.do == resync) {
				t.Errorf("%s writes: %t", got.do, writes)
			}
		})
	}
}

// Whatever stands in an Application, there is a next step, and a step that writes
// has something to write; nothing is synced while an operation is set or others
// forbid it, or before the controller was asked to look.
func FuzzSettle(f *testing.F) {
	f.Add(app(healing, outOfSyn, broken, seen), uint8(1))
	f.Add(app(manual, outOfSyn, succeeded, seen, here), uint8(3))
	f.Add(app(automated, inSync, parked, asked, `"operation":{}`), uint8(9))
	f.Add(`{"spec":{"sources":[{}]},"status":{"sync":{"status":"OutOfSync","comparedTo":{"sources":[{}]}},"history":[{}]}}`, uint8(5))
	f.Fuzz(func(t *testing.T, text string, bits uint8) {
		a, err := argo.ParseApplication([]byte(text))
		if err != nil {
			return
		}
		p := past{asked: bits&1 != 0, synced: bits&2 != 0, lasts: time.Duration(bits&4) * time.Second}
		if bits&8 != 0 {
			p.closed = &argo.Closed{Reason: "others"}
		}
		if bits&16 != 0 {
			p.before = argo.LastOf(a)
		}
		s := settle(a, p)
		switch s.do {
		case wait, blocked, failed:
			if s.reason == "" {
				t.Errorf("no reason to %s", s.do)
			}
		case unpark, refresh, nudge:
			if s.ops(a) == nil {
				t.Errorf("%s writes nothing", s.do)
			}
		case resync:
			if s.ops(a) == nil || argo.Busy(a) || p.closed != nil || !p.asked || a.RefreshAsked() || p.synced {
				t.Errorf("it is to be synced with %+v", p)
			}
		case settled:
			if a.Metadata.DeletionTimestamp.IsZero() && (!p.asked || p.lasts < holds) {
				t.Error("it is settled before the controller has looked")
			}
		default:
			t.Errorf("unknown step %q", s.do)
		}
	})
}

func TestLeftOver(t *testing.T) {
	t.Parallel()
	c := claimAt(noon, 0)
	free := c
	free.Holder = ""
	for name, tt := range map[string]struct {
		change     func(*argo.Mark)
		held, none bool
	}{
		"its own":            {func(*argo.Mark) {}, false, true},
		"its own, ended":     {func(m *argo.Mark) { m.End = noon }, true, true},
		"another holder":     {func(m *argo.Mark) { m.Holder = "OTHER" }, true, true},
		"an earlier token":   {func(m *argo.Mark) { m.Token = 2 }, true, true},
		"a later token":      {func(m *argo.Mark) { m.Token = 4 }, false, false},
		"a later one, ended": {func(m *argo.Mark) { m.Token, m.End = 4, noon }, true, true},
		"another target":     {func(m *argo.Mark) { m.Target, m.Token, m.End = "other", 1, noon }, false, false},
		"another namespace":  {func(m *argo.Mark) { m.Namespace, m.Token, m.End = "other", 1, noon }, false, false},
		"an earlier year":    {func(m *argo.Mark) { m.Token, m.End = 9, noon.AddDate(-1, 0, 0) }, true, true},
	} {
		m := markOf(claimAt(noon, 1))
		m.End = noon.Add(1)
		tt.change(&m)
		if got := leftOver(m, c); got != tt.held {
			t.Errorf("%s: %t while the lease is held", name, got)
		}
		if got := leftOver(m, free); got != tt.none {
			t.Errorf("%s: %t while nobody holds it", name, got)
		}
	}
}
