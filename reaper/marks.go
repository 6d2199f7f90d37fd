package reaper

import (
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/internal/keys"
)

// keptBy is the mark of another tool that says that the object stays, or nothing.
func keptBy(o Object) string {
	for _, m := range []struct{ key, value string }{
		{"helm.sh/resource-policy", "keep"},
		{"client.lifecycle.config.k8s.io/deletion", "detach"},
		{"cli-utils.sigs.k8s.io/on-remove", "keep"},
		{"janitor/ttl", "forever"},
	} {
		if strings.TrimSpace(o.Annotations[m.key]) == m.value {
			return m.key + "=" + m.value
		}
	}
	const options = "argocd.argoproj.io/sync-options"
	for option := range strings.SplitSeq(o.Annotations[options], ",") {
		if option = strings.TrimSpace(option); option == "Prune=false" || option == "Delete=false" {
			return options + "=" + option
		}
	}
	return ""
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
