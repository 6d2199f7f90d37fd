package reaper_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
)

var (
	created = at("2026-03-01T00:00:00Z")
	due     = at("2026-03-01T01:00:00Z") // of expired
)

// expired is an object that ends at due.
func expired(change ...func(*reaper.Object)) reaper.Object {
	o := reaper.Object{
		Kind: "ConfigMap", Namespace: "shop", Name: "settings", UID: "u", ResourceVersion: "1", Created: created,
		Labels: marks{keys.Intent: "transient"}, Annotations: marks{keys.TTL: "1h"},
	}
	for _, c := range change {
		c(&o)
	}
	return o
}

func annotate(kv ...string) func(*reaper.Object) {
	return func(o *reaper.Object) { o.Annotations = with(o.Annotations, kv) }
}

func label(kv ...string) func(*reaper.Object) {
	return func(o *reaper.Object) { o.Labels = with(o.Labels, kv) }
}

func with(m marks, kv []string) marks {
	if m = maps.Clone(m); m == nil {
		m = marks{}
	}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i]] = kv[i+1]
	}
	return m
}

func unmarked(o *reaper.Object)  { o.Labels, o.Annotations = nil, nil }
func endless(o *reaper.Object)   { o.Annotations = nil }
func deleting(o *reaper.Object)  { o.Deleted = due }
func owned(o *reaper.Object)     { o.Owned = true }
func nameless(o *reaper.Object)  { o.UID = "" }
func uncreated(o *reaper.Object) { o.Created = time.Time{} }
func system(o *reaper.Object)    { o.Namespace = "kube-system" }
func namespace(name string) func(*reaper.Object) {
	return func(o *reaper.Object) { o.Kind, o.Namespace, o.Name = "Namespace", "", name }
}

var (
	retained = label(keys.Intent, "retained")
	bad      = annotate(keys.Grace, "-1h")
	kept     = annotate("helm.sh/resource-policy", "keep")
	declared = label(keys.Target, "devbox")
)

func TestDecide(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		object  reaper.Object
		rules   reaper.Rules
		now     time.Time // due if zero
		verdict reaper.Verdict
		reason  reaper.Reason
		says    string
	}{
		"due":                   {object: expired(), verdict: reaper.Delete, reason: reaper.Due, says: "2026-03-01T01:00:00Z"},
		"a moment before":       {object: expired(), now: due.Add(-time.Nanosecond), verdict: reaper.Wait, reason: reaper.NotDue, says: "2026-03-01T01:00:00Z"},
		"created in the future": {object: expired(func(o *reaper.Object) { o.Created = due.Add(time.Hour) }), verdict: reaper.Wait, reason: reaper.NotDue},
		"active in the future":  {object: expired(annotate(keys.LastActive, "2026-03-01T01:00:01Z")), verdict: reaper.Wait, reason: reaper.NotDue},
		"active a minute ahead": {object: expired(annotate(keys.LastActive, "2026-03-01T01:01:00Z")), verdict: reaper.Wait, reason: reaper.NotDue},
		"active far ahead":      {object: expired(annotate(keys.LastActive, "2026-03-01T01:01:01Z")), verdict: reaper.Refuse, reason: reaper.BadIntent, says: "in the future"},
		"a definition of a kind": {object: expired(func(o *reaper.Object) {
			o.Group, o.Kind, o.Namespace = "apiextensions.k8s.io", "CustomResourceDefinition", ""
		}), verdict: reaper.Refuse, reason: reaper.Holds, says: "go with it"},
		"within its grace":          {object: expired(annotate(keys.Grace, "1s")), verdict: reaper.Wait, reason: reaper.NotDue},
		"no intent":                 {object: expired(unmarked), verdict: reaper.Keep, reason: reaper.NoIntent},
		"a TTL alone":               {object: expired(func(o *reaper.Object) { o.Labels = nil }), verdict: reaper.Keep, reason: reaper.NoIntent},
		"retained":                  {object: expired(retained), verdict: reaper.Keep, reason: reaper.IsRetained},
		"terminating":               {object: expired(deleting), verdict: reaper.Keep, reason: reaper.Terminating, says: "2026-03-01T01:00:00Z"},
		"owned":                     {object: expired(owned), verdict: reaper.Keep, reason: reaper.Owned},
		"a bad value":               {object: expired(bad), verdict: reaper.Refuse, reason: reaper.BadIntent, says: keys.Grace},
		"a bad value alone":         {object: expired(unmarked, annotate(keys.TTL, "7")), verdict: reaper.Refuse, reason: reaper.BadIntent, says: keys.TTL},
		"a bad value, retained":     {object: expired(retained, bad), verdict: reaper.Refuse, reason: reaper.BadIntent},
		"an intent of another form": {object: expired(label(keys.Intent, "TRANSIENT")), verdict: reaper.Refuse, reason: reaper.BadIntent, says: keys.Intent},
		"what becomes of it":        {object: expired(annotate(keys.OnExpiry, "delete")), verdict: reaper.Refuse, reason: reaper.BadIntent, says: keys.OnExpiry},
		"no UID":                    {object: expired(nameless), verdict: reaper.Refuse, reason: reaper.NotCreated},
		"no creation":               {object: expired(uncreated), verdict: reaper.Refuse, reason: reaper.NotCreated},
		"no end":                    {object: expired(endless), verdict: reaper.Refuse, reason: reaper.NoEnd, says: keys.ExpiresAt},
		"grace without an end":      {object: expired(endless, annotate(keys.Grace, "1h")), verdict: reaper.Refuse, reason: reaper.NoEnd},
		"of the system":             {object: expired(system), verdict: reaper.Refuse, reason: reaper.ProtectedName, says: "kube-system"},
		"the system's namespace":    {object: expired(namespace("kube-node-lease")), verdict: reaper.Refuse, reason: reaper.ProtectedName},
		"the namespace default":     {object: expired(namespace("default")), verdict: reaper.Refuse, reason: reaper.ProtectedName},
		"in the namespace default":  {object: expired(func(o *reaper.Object) { o.Namespace = "default" }), verdict: reaper.Delete, reason: reaper.Due},
		"a namespace":               {object: expired(namespace("preview-7")), verdict: reaper.Delete, reason: reaper.Due},
		"a namespace of a CRD":      {object: expired(namespace("default"), func(o *reaper.Object) { o.Group = "example.org" }), verdict: reaper.Delete, reason: reaper.Due},
		"protected namespace":       {object: expired(namespace("pharos")), rules: reaper.Rules{ProtectedNamespaces: []string{"pharos"}}, verdict: reaper.Refuse, reason: reaper.ProtectedName},
		"in a protected namespace":  {object: expired(), rules: reaper.Rules{ProtectedNamespaces: []string{"shop"}}, verdict: reaper.Refuse, reason: reaper.ProtectedName, says: "shop"},
		"a namespace's account":     {object: expired(func(o *reaper.Object) { o.Kind, o.Name = "ServiceAccount", "default" }), verdict: reaper.Refuse, reason: reaper.ProtectedName},
		"a namespace's bundle":      {object: expired(func(o *reaper.Object) { o.Name = "kube-root-ca.crt" }), verdict: reaper.Refuse, reason: reaper.ProtectedName},
		"the API's service":         {object: expired(func(o *reaper.Object) { o.Kind, o.Namespace, o.Name = "Service", "default", "kubernetes" }), verdict: reaper.Refuse, reason: reaper.ProtectedName},
		"kept":                      {object: expired(kept), verdict: reaper.Refuse, reason: reaper.KeptBy, says: "helm.sh/resource-policy=keep"},
		"declared":                  {object: expired(declared), verdict: reaper.Refuse, reason: reaper.DeclaredBy, says: "Pharos"},
		"a foreign key unasked":     {object: expired(unmarked, annotate("janitor/ttl", "1h")), verdict: reaper.Keep, reason: reaper.NoIntent},
		"a foreign key":             {object: expired(unmarked, annotate("janitor/ttl", "1h")), rules: reaper.Rules{Foreign: reaper.Foreigners}, verdict: reaper.Delete, reason: reaper.Due},

		// The order: what is no business of the reaper's is no finding.
		"retained first":        {object: expired(retained, deleting, owned, system, kept, declared), verdict: reaper.Keep, reason: reaper.IsRetained},
		"then terminating":      {object: expired(bad, deleting, owned, nameless, system, kept, declared, endless), verdict: reaper.Keep, reason: reaper.Terminating},
		"then owned":            {object: expired(bad, owned, nameless, system, kept, declared, endless), verdict: reaper.Keep, reason: reaper.Owned},
		"then what is wrong":    {object: expired(endless, bad, nameless, system, kept, declared), verdict: reaper.Refuse, reason: reaper.BadIntent},
		"then what is no thing": {object: expired(endless, nameless, system, kept, declared), verdict: reaper.Refuse, reason: reaper.NotCreated},
		"then the system":       {object: expired(endless, system, kept, declared), verdict: reaper.Refuse, reason: reaper.ProtectedName},
		"then marks":            {object: expired(endless, kept, declared), verdict: reaper.Refuse, reason: reaper.KeptBy},
		"then declarations":     {object: expired(endless, declared), verdict: reaper.Refuse, reason: reaper.DeclaredBy},
	} {
		now := tc.now
		if now.IsZero() {
			now = due
		}
		got := tc.rules.Decide(tc.object, now)
		if got.Verdict != tc.verdict || got.Reason != tc.reason || !strings.Contains(got.Message, tc.says) || got.Message == "" {
			t.Errorf("%s: %+v, want %s %s with %q", name, got, tc.verdict, tc.reason, tc.says)
		}
		if timed := got.Verdict == reaper.Wait || got.Verdict == reaper.Delete; timed == got.Deadline.IsZero() {
			t.Errorf("%s: %s with the deadline %v", name, got.Verdict, got.Deadline)
		}
		if _, err := json.Marshal(got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMarks(t *testing.T) {
	t.Parallel()
	const options, prune = "argocd.argoproj.io/sync-options", "kustomize.toolkit.fluxcd.io/prune"
	for name, tc := range map[string]struct {
		mark func(*reaper.Object)
		want reaper.Reason
	}{
		"Helm":                     {annotate("helm.sh/resource-policy", "keep"), reaper.KeptBy},
		"Helm, in other letters":   {annotate("helm.sh/resource-policy", " Keep"), reaper.KeptBy},
		"Helm, mistyped":           {annotate("helm.sh/resource-policy", "kepe"), reaper.KeptBy},
		"Helm, empty":              {annotate("helm.sh/resource-policy", ""), reaper.KeptBy},
		"detached":                 {annotate("client.lifecycle.config.k8s.io/deletion", "detach"), reaper.KeptBy},
		"cli-utils":                {annotate("cli-utils.sigs.k8s.io/on-remove", "keep"), reaper.KeptBy},
		"janitor":                  {annotate("janitor/ttl", "forever"), reaper.KeptBy},
		"janitor, in capitals":     {annotate("janitor/ttl", "FOREVER"), reaper.KeptBy},
		"janitor, mistyped":        {annotate("janitor/ttl", "for ever"), reaper.KeptBy},
		"janitor, with an end":     {annotate("janitor/ttl", "7d"), reaper.Due},
		"Argo CD: no prune":        {annotate(options, "Prune=false"), reaper.KeptBy},
		"Argo CD: no delete":       {annotate(options, "Validate=false, Delete=false"), reaper.KeptBy},
		"Argo CD: ask first":       {annotate(options, "Prune=confirm"), reaper.KeptBy},
		"Argo CD: something":       {annotate(options, "Delete"), reaper.KeptBy},
		"Argo CD: prune":           {annotate(options, "Prune=true,Delete=true"), reaper.Due},
		"Argo CD: other options":   {annotate(options, "PruneLast=false,Replace=true"), reaper.Due},
		"Flux: no prune":           {annotate(prune, "disabled"), reaper.KeptBy},
		"Flux: no prune, a label":  {label(prune, "disabled"), reaper.KeptBy},
		"Flux: prune":              {annotate(prune, "enabled"), reaper.Due},
		"Pharos declares":          {label(keys.Target, ""), reaper.DeclaredBy},
		"Pharos manages":           {label(keys.ManagedBy, keys.Manager), reaper.DeclaredBy},
		"Argo CD declares":         {annotate("argocd.argoproj.io/tracking-id", "shop:/ConfigMap:other/name"), reaper.DeclaredBy},
		"Argo CD declares, label":  {label("argocd.argoproj.io/instance", "shop"), reaper.DeclaredBy},
		"Flux declares":            {label("kustomize.toolkit.fluxcd.io/name", "shop"), reaper.DeclaredBy},
		"Flux declares by Helm":    {label("helm.toolkit.fluxcd.io/name", "shop"), reaper.DeclaredBy},
		"kapp declares":            {label("kapp.k14s.io/app", "1"), reaper.DeclaredBy},
		"an ApplySet declares":     {label("applyset.kubernetes.io/part-of", "x"), reaper.DeclaredBy},
		"an inventory declares":    {annotate("config.k8s.io/owning-inventory", "x"), reaper.DeclaredBy},
		"Helm declares":            {annotate("meta.helm.sh/release-name", "x"), reaper.DeclaredBy},
		"Helm declares, label":     {label(keys.ManagedBy, "Helm"), reaper.DeclaredBy},
		"somebody manages":         {label(keys.ManagedBy, "my-operator"), reaper.Due},
		"a name is no declaration": {label("app.kubernetes.io/instance", "shop"), reaper.Due},
	} {
		if got := (reaper.Rules{}).Decide(expired(tc.mark), due); got.Reason != tc.want {
			t.Errorf("%s: %+v, want %s", name, got, tc.want)
		}
	}
}

func TestOutlives(t *testing.T) {
	t.Parallel()
	snapshot := func(o *reaper.Object) { o.Group, o.Kind = "snapshot.storage.k8s.io", "VolumeSnapshot" }
	kind := func(group, kind string) func(*reaper.Object) {
		return func(o *reaper.Object) { o.Group, o.Kind = group, kind }
	}
	for name, tc := range map[string]struct {
		object reaper.Object
		want   string // "" is nothing
	}{
		"transient":                {expired(), ""},
		"nothing said":             {expired(unmarked), ""},
		"a volume":                 {expired(unmarked, kind("", "PersistentVolumeClaim")), ""},
		"a StatefulSet":            {expired(unmarked, kind("apps", "StatefulSet")), ""},
		"a snapshot":               {expired(unmarked, snapshot), "durable"},
		"a transient snapshot":     {expired(snapshot), ""},
		"a snapshot of other kind": {expired(unmarked, kind("example.org", "VolumeSnapshot")), ""},
		"retained":                 {expired(retained), keys.Intent},
		"retained and owned":       {expired(retained, owned), keys.Intent},
		"unreadable":               {expired(bad), keys.Grace},
		"kept":                     {expired(kept), "helm.sh/resource-policy"},
		"delivered":                {expired(declared), "Pharos"},
		"Argo CD would heal it":    {expired(unmarked, annotate("argocd.argoproj.io/tracking-id", "x")), "Argo CD"},
		"Helm would not":           {expired(unmarked, label(keys.ManagedBy, "Helm"), annotate("meta.helm.sh/release-name", "x")), ""},
		"a backup":                 {expired(unmarked, kind("velero.io", "Backup")), "durable"},
	} {
		got := reaper.Outlives(tc.object)
		if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if reaper.Durable("", "PersistentVolumeClaim") || !reaper.Durable("snapshot.storage.k8s.io", "VolumeSnapshot") {
		t.Error("a volume is durable, or a snapshot is not")
	}
}
