package reaper

import (
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/internal/keys"
)

// keepers are annotations of other tools that exist only to say that an object stays;
// a value that they do not have is an attempt to say so.
//
// Sources: Helm's "Resource Policies", cli-utils' pkg/common, the deletion annotation of
// client.lifecycle.config.k8s.io there.
var keepers = []string{
	"helm.sh/resource-policy",
	"client.lifecycle.config.k8s.io/deletion",
	"cli-utils.sigs.k8s.io/on-remove",
}

// keptBy is the mark of another tool that says that the object stays, or nothing.
func keptBy(o Object) string {
	for _, key := range keepers {
		if value, ok := o.Annotations[key]; ok {
			return mark(key, value)
		}
	}
	const janitor = "janitor/ttl"
	if value, ok := o.Annotations[janitor]; ok {
		if _, err := ParseDuration(value); err != nil { // "forever", or something like it
			return mark(janitor, value)
		}
	}
	// Argo CD's options are name=value, separated by commas; Prune and Delete can be
	// false or confirm.
	const options = "argocd.argoproj.io/sync-options"
	for option := range strings.SplitSeq(o.Annotations[options], ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(option), "=")
		if (name == "Prune" || name == "Delete") && value != "true" {
			return mark(options, strings.TrimSpace(option))
		}
	}
	const prune = "kustomize.toolkit.fluxcd.io/prune"
	if value, ok := o.Annotations[prune]; ok && value != "enabled" {
		return mark(prune, value)
	}
	if value, ok := o.Labels[prune]; ok && value != "enabled" {
		return mark(prune, value)
	}
	return ""
}

// mark writes a key with the value that it has.
func mark(key, value string) string {
	if value == "" || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) || len(value) > longest {
		value = quote(value)
	}
	return key + "=" + value
}

// declarer is what declares an object.
type declarer struct {
	tool, mark string
	// reconciles says that the tool brings the object back by itself.
	reconciles bool
}

// declaredBy is what declares the object, or nil. A mark that was copied from another
// object counts too: what is kept by mistake can still be deleted.
func declaredBy(o Object) *declarer {
	for _, d := range []declarer{
		{"Pharos", keys.Target, true},
		{"Argo CD", "argocd.argoproj.io/tracking-id", true},
		{"Argo CD", "argocd.argoproj.io/instance", true},
		{"Flux", "kustomize.toolkit.fluxcd.io/name", true},
		{"Flux", "helm.toolkit.fluxcd.io/name", true},
		{"kapp", "kapp.k14s.io/app", false},
		{"an ApplySet", "applyset.kubernetes.io/part-of", false},
		{"an inventory of cli-utils", "config.k8s.io/owning-inventory", false},
		{"Helm", "meta.helm.sh/release-name", false},
	} {
		_, label := o.Labels[d.mark]
		if _, annotation := o.Annotations[d.mark]; label || annotation {
			return &d
		}
	}
	if by := o.Labels[keys.ManagedBy]; slices.Contains([]string{"Helm", keys.Manager}, by) {
		return &declarer{tool: by, mark: keys.ManagedBy + "=" + by, reconciles: by == keys.Manager}
	}
	return nil
}
