package argocd

import (
	"testing"

	"github.com/pharos-dev/pharos/internal/argo"
)

func TestMannerOf(t *testing.T) {
	t.Parallel()
	const kubectl = "kubectl-client-side-apply"
	for name, tt := range map[string]struct {
		options     []string
		annotations map[string]string
		want        manner
	}{
		"client-side":             {want: manner{migrated: kubectl}},
		"of the Application":      {options: []string{"ServerSideApply=true", "Replace=true"}, want: manner{serverSide: true, replace: true, migrated: kubectl}},
		"of the object":           {annotations: map[string]string{syncOptions: "Prune=false, Replace=true ,Force=true"}, want: manner{replace: true, force: true, migrated: kubectl}},
		"not for the object":      {options: []string{"ServerSideApply=true"}, annotations: map[string]string{syncOptions: "ServerSideApply=false"}, want: manner{migrated: kubectl}},
		"force of an Application": {options: []string{"Force=true"}, want: manner{migrated: kubectl}},
		"nothing taken over":      {options: []string{"ClientSideApplyMigration=false"}},
		"a hook":                  {annotations: map[string]string{hookTypes: "PreSync,Sync"}, want: manner{hook: true, migrated: kubectl}},
		"a hook that passes":      {annotations: map[string]string{hookTypes: "Sync", hookDeletePolicy: "HookFailed, HookSucceeded"}, want: manner{hook: true, passing: true, migrated: kubectl}},
		"a hook of Helm":          {annotations: map[string]string{helmHook: "pre-install", helmDeletePolicy: "hook-succeeded"}, want: manner{hook: true, passing: true, migrated: kubectl}},
		"a definition of Helm":    {annotations: map[string]string{helmHook: "crd-install"}, want: manner{migrated: kubectl}},
		"skipped":                 {annotations: map[string]string{hookTypes: "Skip"}, want: manner{skipped: true, migrated: kubectl}},
		"skipped and not":         {annotations: map[string]string{hookTypes: "Skip,Sync"}, want: manner{hook: true, migrated: kubectl}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &argo.Application{}
			a.Spec.SyncPolicy = &argo.SyncPolicy{SyncOptions: tt.options}
			if got := mannerOf(a, tt.annotations); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
	a := &argo.Application{}
	a.Metadata.Annotations = map[string]string{migrationManager: "others"}
	if got := mannerOf(a, nil); got != (manner{migrated: "others"}) {
		t.Errorf("with a manager of its own: %+v", got)
	}
}
