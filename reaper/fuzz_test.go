package reaper_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
)

// objectFrom reads an object from lines: its identity in the first, then label and
// annotation in turn, as key=value.
func objectFrom(text string) (o reaper.Object, foreign bool) {
	lines := strings.Split(text, "\n")
	id := append(strings.Split(lines[0], "/"), "", "", "", "", "")
	o = reaper.Object{Group: id[0], Kind: id[1], Namespace: id[2], Name: id[3], UID: id[4], Labels: marks{}, Annotations: marks{}}
	flags := strings.Join(id[5:], "")
	if !strings.Contains(flags, "n") {
		o.Created = created
	}
	if strings.Contains(flags, "d") {
		o.Deleted = due
	}
	o.Owned = strings.Contains(flags, "o")
	for _, line := range lines[1:] {
		key, value, _ := strings.Cut(line, "=")
		if l, ok := strings.CutPrefix(key, "label "); ok {
			o.Labels[l] = value
		} else {
			o.Annotations[key] = value
		}
	}
	return o, strings.Contains(flags, "f")
}

// What is deleted fulfils every condition of the package's documentation, each
// checked here in another way than there.
func FuzzDecide(f *testing.F) {
	transient := "\nlabel " + keys.Intent + "=transient"
	for _, seed := range []string{
		"/ConfigMap/shop/settings/u" + transient + "\n" + keys.TTL + "=1h",
		"/ConfigMap/shop/settings/u" + transient + "\n" + keys.ExpiresAt + "=2026-03-01T00:10:00Z\n" + keys.Grace + "=2m",
		"/ConfigMap/shop/settings/u" + transient + "\n" + keys.TTL + "=1h\n" + keys.LastActive + "=2026-03-01T00:00:01+00:30",
		"/ConfigMap/shop/settings/u" + transient + "\n" + keys.TTL + "=1h\nhelm.sh/resource-policy=keep",
		"/ConfigMap/shop/settings/u" + transient + "\n" + keys.TTL + "=1h\n" + keys.OnExpiry + "=x",
		"/ConfigMap/kube-system/settings/u" + transient + "\n" + keys.TTL + "=1h",
		"/Namespace//default/u" + transient + "\n" + keys.TTL + "=1s",
		"/Namespace//preview/u/d" + transient + "\n" + keys.TTL + "=1s",
		"/ServiceAccount/shop/default/u/o" + transient + "\n" + keys.TTL + "=1s",
		"/Pod/shop/p/u/f\njanitor/ttl=1h\nlabel cleanup.kyverno.io/ttl=2026-03-01",
		"/Pod/shop/p/u/f\nk8s-ttl-controller.twin.sh/ttl=1.5h\nsleepmode.loft.sh/last-activity=1772325000\ndev.okteto.com/last-updated=2026-03-01T00:30:00",
		"/Pod/shop/p//n",
		"",
	} {
		f.Add(seed, int64(3600))
	}
	f.Fuzz(func(t *testing.T, text string, seconds int64) {
		o, foreign := objectFrom(text)
		rules := reaper.Rules{ProtectedNamespaces: []string{"pharos"}}
		if foreign {
			rules.Foreign = reaper.Foreigners
		}
		now := created.Add(time.Duration(seconds%(1<<33)) * time.Second)
		intent, err := reaper.ReadIntent(o.Labels, o.Annotations)
		if err != nil && !errors.Is(err, reaper.ErrIntent) {
			t.Fatalf("error %v", err)
		}
		_ = reaper.Outlives(o)
		d := rules.Decide(o, now)
		if _, err := json.Marshal(d); err != nil {
			t.Fatal(err)
		}
		if d != rules.Decide(o, now) {
			t.Fatal("another decision of the same")
		}
		if d.Verdict != reaper.Delete {
			return
		}
		allow := func(cond bool, what string) {
			if !cond {
				t.Errorf("%+v is deleted at %s (%+v), and %s", o, now, d, what)
			}
		}
		allow(err == nil, "its intent cannot be read")
		allow(foreign || intent.Kind == reaper.Transient && o.Labels[keys.Intent] == "transient", "it does not say that it ends")
		allow(foreign || o.Annotations[keys.TTL] != "" || o.Annotations[keys.ExpiresAt] != "", "it does not say until when")
		allow(!d.Deadline.After(now), "it is not its time")
		for _, key := range []string{keys.ExpiresAt, keys.LastActive} {
			if value, ok := o.Annotations[key]; ok {
				_, err := time.Parse(time.RFC3339, value)
				allow(err == nil, key+" is no time")
			}
		}
		if !foreign {
			end := time.Unix(1<<40, 0)
			if ttl := o.Annotations[keys.TTL]; ttl != "" {
				end = created.Add(sum(ttl))
				if active, err := time.Parse(time.RFC3339, o.Annotations[keys.LastActive]); err == nil && active.After(created) {
					end = active.Add(sum(ttl))
				}
			}
			if expires, err := time.Parse(time.RFC3339, o.Annotations[keys.ExpiresAt]); err == nil && expires.Before(end) {
				end = expires
			}
			allow(!now.Before(end.Add(sum(o.Annotations[keys.Grace]))), "its time is not up")
		}
		allow(o.Deleted.IsZero(), "it is being deleted")
		allow(!o.Owned, "it has an owner")
		allow(o.UID != "" && !o.Created.IsZero(), "it is not told from another")
		in := o.Namespace
		if o.Group == "" && o.Kind == "Namespace" {
			in = o.Name
			allow(in != "default", "it is the namespace default")
		}
		allow(in != "pharos" && !(len(in) > 4 && in[:5] == "kube-"), "it is the system's")
		allow(o.Group != "" || !slices.Contains([]string{"ServiceAccount default", "ConfigMap kube-root-ca.crt"}, o.Kind+" "+o.Name), "it is its namespace's own")
		_, on := o.Annotations[keys.OnExpiry]
		allow(!on, "it says what is to become of it")
		for _, key := range []string{
			keys.Target, "argocd.argoproj.io/tracking-id", "kustomize.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/name", "kapp.k14s.io/app",
			"applyset.kubernetes.io/part-of", "config.k8s.io/owning-inventory", "meta.helm.sh/release-name",
			"helm.sh/resource-policy", "client.lifecycle.config.k8s.io/deletion", "cli-utils.sigs.k8s.io/on-remove",
		} {
			_, marked := o.Annotations[key]
			allow(!marked, "it carries "+key)
		}
		allow(!strings.EqualFold(o.Annotations["janitor/ttl"], "forever"), "it is kept for ever")
		options := strings.ReplaceAll(o.Annotations["argocd.argoproj.io/sync-options"], " ", "")
		allow(!strings.Contains(","+options+",", ",Prune=false,") && !strings.Contains(","+options+",", ",Delete=false,"), "Argo CD is to keep it")
	})
}

// sum adds a duration up from its end.
func sum(s string) (d time.Duration) {
	factor, unit := 1, time.Duration(0)
	for _, c := range slices.Backward([]byte(s)) {
		switch c {
		case 's':
			factor, unit = 1, time.Second
		case 'm':
			factor, unit = 1, time.Minute
		case 'h':
			factor, unit = 1, time.Hour
		case 'd':
			factor, unit = 1, 24*time.Hour
		case 'w':
			factor, unit = 1, 7*24*time.Hour
		default:
			d += time.Duration(int(c-'0')*factor) * unit
			factor *= 10
		}
	}
	return d
}
