package standard

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/internal/parked"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// ParkedWorkload is a workload that is restarted no more, see package
// lifecycle/supervise/workload.
type ParkedWorkload struct {
	Object receipt.Object `json:"object"`
	// Reason is one line.
	Reason string `json:"reason"`
	// Since is zero if a person parked it.
	Since time.Time `json:"since,omitzero"`
	// Unpark is the command that has it supervised again.
	Unpark string `json:"unpark"`
}

// String says it for people, without the name of the workload.
func (p ParkedWorkload) String() string {
	return parked.Parked{Reason: p.Reason, Since: p.Since}.String()
}

// ParkedWorkloads returns those of the objects that are workloads and parked, sorted by
// namespace and name. It makes one API call for each kind of workload in each namespace,
// which needs the right to list it, and reads metadata only. The error matches
// lifecycle.ErrUnreachable if the cluster does not answer or does not let us.
func ParkedWorkloads(ctx context.Context, o Options, objects []receipt.Object) ([]ParkedWorkload, error) {
	type list struct{ version, resource, namespace string }
	wanted := map[list]map[string]receipt.Object{}
	for _, obj := range objects {
		if !parked.Workload(obj.Group, obj.Kind) {
			continue
		}
		of := list{obj.Version, obj.Resource, obj.Namespace}
		if wanted[of] == nil {
			wanted[of] = map[string]receipt.Object{}
		}
		wanted[of][obj.Name] = obj
	}
	client, err := kubeclient.New(o.REST, schema.GroupVersion{Group: "apps", Version: "v1"}, func(*runtime.Scheme) error { return nil })
	if err != nil {
		return nil, fmt.Errorf("look for parked workloads: %w", err)
	}
	var all []ParkedWorkload
	for of, objects := range wanted {
		page := &metav1.PartialObjectMetadataList{}
		err := kubeclient.Retry(ctx, func() error {
			return client.Get().AbsPath(path.Join("/apis/apps", of.version, "namespaces", of.namespace, of.resource)).
				SetHeader("Accept", kubeclient.MetadataOnlyList).MaxRetries(0).Do(ctx).Into(page)
		})
		if err != nil {
			return nil, lifecycle.TargetError(fmt.Errorf("look for parked workloads among the %s in namespace %s: %w", of.resource, of.namespace, err))
		}
		for _, item := range page.Items {
			obj, ours := objects[item.Name]
			if p, is := parked.Of(obj.Group, obj.Kind, item.Annotations); ours && is {
				all = append(all, ParkedWorkload{Object: obj, Reason: p.Reason, Since: p.Since, Unpark: parked.Unpark(of.resource+".apps", obj.Namespace, obj.Name)})
			}
		}
	}
	slices.SortFunc(all, func(a, b ParkedWorkload) int {
		return cmp.Or(strings.Compare(a.Object.Namespace, b.Object.Namespace), receipt.CompareObjects(a.Object, b.Object))
	})
	return all, nil
}
