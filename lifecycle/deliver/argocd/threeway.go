package argocd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/pharos-dev/pharos/lifecycle/deliver/apply"
)

// mergedKinds are those that every cluster has, whose lists are merged by keys. All
// others, custom resources among them, have lists that are replaced.
func mergedKinds() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	var errs []error
	for _, add := range []func(*runtime.Scheme) error{
		admissionregistrationv1.AddToScheme, appsv1.AddToScheme, autoscalingv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme,
		certificatesv1.AddToScheme, coordinationv1.AddToScheme, corev1.AddToScheme, discoveryv1.AddToScheme, flowcontrolv1.AddToScheme,
		networkingv1.AddToScheme, nodev1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme, schedulingv1.AddToScheme, storagev1.AddToScheme,
	} {
		errs = append(errs, add(s))
	}
	return s, errors.Join(errs...)
}

// patch is what is sent to change a live object into what a manifest says.
type patch struct {
	form apply.Form
	body []byte
}

// empty says that nothing is sent.
func (p patch) empty() bool { return string(p.body) == "{}" }

// clientSide is the patch of kubectl's client-side apply, which Argo CD applies
// with: what the manifest says, and what it said the last time and says no more,
// which goes. What others set stays.
func clientSide(known *runtime.Scheme, gvk schema.GroupVersionKind, manifest, live map[string]any) (patch, error) {
	modified, err := annotatedManifest(manifest)
	if err != nil {
		return patch{}, err
	}
	current, err := json.Marshal(live)
	if err != nil {
		return patch{}, err
	}
	var original []byte
	if last := annotationsOf(live)[lastApplied]; last != "" {
		original = []byte(last)
	}
	typed, err := known.New(gvk)
	if err != nil { // no kind that every cluster has
		body, err := jsonmergepatch.CreateThreeWayJSONMergePatch(original, modified, current)
		return patch{apply.FormMerge, body}, err
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return patch{}, err
	}
	body, err := strategicpatch.CreateThreeWayMergePatch(original, modified, current, meta, true)
	if err != nil {
		return patch{}, fmt.Errorf("merge it with what was applied last: %w", err)
	}
	return patch{apply.FormStrategicMerge, body}, nil
}

// replacement is the patch that comes to the same as an update with the manifest:
// whatever that does not say goes, but for what the server alone writes.
func replacement(manifest, live map[string]any) (patch, error) {
	docs := make([][]byte, 3)
	for i, o := range []map[string]any{withoutServers(live), manifest, live} {
		var err error
		if docs[i], err = json.Marshal(o); err != nil {
			return patch{}, err
		}
	}
	body, err := jsonmergepatch.CreateThreeWayJSONMergePatch(docs[0], docs[1], docs[2])
	return patch{apply.FormMerge, body}, err
}

// annotatedManifest is a manifest with itself in an annotation, in the very bytes
// in which kubectl writes it: what is the same is no change.
func annotatedManifest(manifest map[string]any) ([]byte, error) {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(manifest); err != nil {
		return nil, err
	}
	whole := copied(manifest)
	set(whole, "annotations", lastApplied, b.String())
	return json.Marshal(whole)
}

// copied is a deep copy of what came out of JSON.
func copied(o map[string]any) map[string]any { return runtime.DeepCopyJSON(o) }

// withoutServers returns an object without what the server alone writes.
func withoutServers(o map[string]any) map[string]any {
	o = copied(o)
	delete(o, "status")
	metadata, _ := o["metadata"].(map[string]any)
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink"} {
		delete(metadata, field)
	}
	return o
}
