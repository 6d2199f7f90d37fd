package argocd

import (
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/internal/argo"
)

// The annotations by which an object says how Argo CD is to sync it.
const (
	syncOptions      = "argocd.argoproj.io/sync-options"
	hookTypes        = "argocd.argoproj.io/hook"
	hookDeletePolicy = "argocd.argoproj.io/hook-delete-policy"
	helmHook         = "helm.sh/hook"
	helmDeletePolicy = "helm.sh/hook-delete-policy"
	migrationManager = "argocd.argoproj.io/client-side-apply-migration-manager" // of an Application
)

// manner is how Argo CD brings an object to the cluster.
type manner struct {
	serverSide, replace, force bool
	// migrated is the manager of a client-side apply whose fields server-side apply
	// takes over, by an apply in its name.
	migrated string
	// skipped says that it is not brought at all.
	skipped bool
	// hook says that it is made anew with every sync, and passing that it is
	// deleted again in the end.
	hook, passing bool
}

// mannerOf reads the options of an Application, and those of an object, which
// come on top.
func mannerOf(a *argo.Application, annotations map[string]string) manner {
	var all []string
	if a != nil && a.Spec.SyncPolicy != nil {
		all = a.Spec.SyncPolicy.SyncOptions
	}
	own := commaSeparated(annotations[syncOptions])
	has := func(option string) bool { return slices.Contains(all, option) || slices.Contains(own, option) }
	m := manner{
		replace:    has("Replace=true"),
		serverSide: has("ServerSideApply=true") && !slices.Contains(own, "ServerSideApply=false"),
		force:      slices.Contains(own, "Force=true"), // no policy of an Application has it
	}
	if !has("ClientSideApplyMigration=false") {
		m.migrated = "kubectl-client-side-apply"
		if a != nil {
			m.migrated = orDefault(a.Metadata.Annotations[migrationManager], m.migrated)
		}
	}
	types, isHook := annotations[hookTypes]
	if isHook {
		m.skipped = slices.Equal(commaSeparated(types), []string{"Skip"})
	} else if types, isHook = annotations[helmHook]; types == "crd-install" {
		isHook = false
	}
	m.hook = isHook && !m.skipped
	m.passing = m.hook && (slices.Contains(commaSeparated(annotations[hookDeletePolicy]), "HookSucceeded") ||
		slices.Contains(commaSeparated(annotations[helmDeletePolicy]), "hook-succeeded"))
	return m
}

// makesNamespace says whether a sync makes the namespace of the destination.
func makesNamespace(a *argo.Application, namespace string) bool {
	return a != nil && a.Spec.SyncPolicy != nil && a.Spec.Destination.Namespace == namespace &&
		slices.Contains(a.Spec.SyncPolicy.SyncOptions, "CreateNamespace=true")
}

func commaSeparated(list string) []string {
	var items []string
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item != "" && !slices.Contains(items, item) {
			items = append(items, item)
		}
	}
	return items
}
