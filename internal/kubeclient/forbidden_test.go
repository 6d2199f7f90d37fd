package kubeclient_test

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// TestForbiddenAdvice has what the API server says of a write that it forbids, in its
// own words.
func TestForbiddenAdvice(t *testing.T) {
	t.Parallel()
	for why, want := range map[string]string{
		`User "ann" cannot create resource "pods" in API group "" in the namespace "shop"`:                "the rights",
		"exceeded quota: tier, requested: pods=1, used: pods=1, limited: pods=1":                          "Raise the namespace's quota",
		"failed quota: tier: must specify requests.cpu for: c; requests.memory for: c":                    "Say in the object what the namespace's quota limits",
		"ValidatingAdmissionPolicy 'tier' with binding 'tier' denied request: it has to say that it ends": "Mend the object",
		`admission webhook "images.example.org" denied the request: the image is not signed`:              "Mend the object",
	} {
		err := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", errors.New(why))
		if got := kubeclient.ForbiddenAdvice(err, "shop", "the rights"); !strings.HasPrefix(got, want) {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}
