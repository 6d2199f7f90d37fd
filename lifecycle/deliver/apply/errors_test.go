package apply

import (
	"testing"

	"github.com/pharos-dev/pharos/receipt"
)

func TestOwner(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		`conflict with "kubectl-edit" using apps/v1`:                           "kubectl-edit",
		`conflict with "scaler" with subresource "scale" using autoscaling/v1`: "scaler",
		`conflict with "a \"b\"" using v1`:                                     `a "b"`,
		`conflict with nobody`:                                                 "nobody",
		`something else`:                                                       "something else",
	} {
		if got := owner(message); got != want {
			t.Errorf("%s: got %q, want %q", message, got, want)
		}
	}
}

func TestStages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		group, kind string
		want        int
	}{
		{"", "Namespace", stageDefinitions},
		{"apiextensions.k8s.io", "CustomResourceDefinition", stageDefinitions},
		{"", "ConfigMap", stageParts},
		{"rbac.authorization.k8s.io", "Role", stageParts},
		{"example.com", "Namespace", stageParts},
		{"example.com", "Deployment", stageParts},
		{"", "Pod", stageWorkloads},
		{"apps", "Deployment", stageWorkloads},
		{"batch", "CronJob", stageWorkloads},
		{"admissionregistration.k8s.io", "ValidatingWebhookConfiguration", stageGates},
		{"apiregistration.k8s.io", "APIService", stageGates},
	} {
		if got := stageOf(receipt.Object{Group: tt.group, Kind: tt.kind}); got != tt.want {
			t.Errorf("%s of %q: stage %d, want %d", tt.kind, tt.group, got, tt.want)
		}
	}
}
