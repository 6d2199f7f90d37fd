package policy

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	helpers "k8s.io/component-helpers/resource"
)

// Quota is one limit of a namespace's ResourceQuota, and what is used of it by what is
// there, as the API server counts.
type Quota struct {
	Namespace string `json:"namespace"`
	// Limit is named as in a ResourceQuota: "count/pods", "requests.cpu".
	Limit string            `json:"limit"`
	Hard  resource.Quantity `json:"hard"`
	Used  resource.Quantity `json:"used"`
	// Unsaid are the pods that do not say what they request of it, sorted: with this
	// limit the API server would have refused them.
	Unsaid []string `json:"unsaid,omitempty"`
}

// Exceeded says that more is used than the limit.
func (q Quota) Exceeded() bool { return q.Used.Cmp(q.Hard) > 0 }

// Full says that the limit leaves no room: who creates more now is refused.
func (q Quota) Full() bool { return q.Used.Cmp(q.Hard) >= 0 }

// Refuses says that something of what is there would have been refused.
func (q Quota) Refuses() bool { return q.Exceeded() || len(q.Unsaid) > 0 }

// String is the limit for people.
func (q Quota) String() string {
	text := fmt.Sprintf("%s in %s: %s of %s are used", q.Limit, q.Namespace, q.Used.String(), q.Hard.String())
	switch {
	case q.Exceeded():
		over := q.Used.DeepCopy()
		over.Sub(q.Hard)
		text += fmt.Sprintf(", %s too much", over.String())
	case q.Full():
		text += ", and more is refused"
	}
	if len(q.Unsaid) > 0 {
		text += fmt.Sprintf("; %d pods do not say what they request: %s", len(q.Unsaid), strings.Join(q.Unsaid[:min(len(q.Unsaid), 5)], ", "))
		if len(q.Unsaid) > 5 {
			text += ", …"
		}
	}
	return text
}

// quotas compares the quotas of the configuration with what is there. Counts are those of
// resources that were listed in a namespace.
func (v *reviewer) quotas(ctx context.Context) error {
	for _, namespace := range slices.Compact(slices.Sorted(slices.Values(v.config.Namespaces))) {
		q := v.config.quota(namespace)
		if q == nil {
			continue
		}
		requests := map[corev1.ResourceName]*Quota{}
		for _, limit := range []corev1.ResourceName{corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory} {
			if hard, limited := q.Spec.Hard[limit]; limited {
				requests[limit] = &Quota{Namespace: namespace, Limit: string(limit), Hard: hard}
			}
		}
		if len(requests) > 0 {
			if err := v.requests(ctx, namespace, requests); err != nil {
				if ctx.Err() != nil {
					return err
				}
				v.gap("pods", namespace, fmt.Errorf("what they request: %w", err))
				clear(requests)
			}
		}
		for _, limit := range slices.Sorted(maps.Keys(q.Spec.Hard)) {
			if r := requests[limit]; r != nil {
				v.report.Quotas = append(v.report.Quotas, *r)
			}
			name, counts := strings.CutPrefix(string(limit), "count/")
			if n, listed := v.counted[counted{name, namespace}]; counts && listed {
				v.report.Quotas = append(v.report.Quotas, Quota{Namespace: namespace, Limit: string(limit), Hard: q.Spec.Hard[limit], Used: *resource.NewQuantity(n, resource.DecimalSI)})
			}
		}
	}
	return nil
}

// counted is a resource in a namespace.
type counted struct{ resource, namespace string }

// requests adds up what the pods of a namespace request, as the API server's quotas do:
// of those that have not ended, owned ones too.
// Source: https://kubernetes.io/docs/concepts/policy/resource-quotas/#compute-resource-quota
func (v *reviewer) requests(ctx context.Context, namespace string, into map[corev1.ResourceName]*Quota) error {
	for next := ""; ; {
		var page corev1.PodList
		err := v.rest.Get().AbsPath("/api/v1/namespaces/"+url.PathEscape(namespace)+"/pods").MaxRetries(0).
			Param("limit", "500").Param("continue", next).Do(ctx).Into(&page)
		if err != nil {
			return err
		}
		for i := range page.Items {
			pod := &page.Items[i]
			if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
				continue
			}
			sum := helpers.PodRequests(pod, helpers.PodResourcesOptions{})
			for limit, q := range into {
				of := corev1.ResourceName(strings.TrimPrefix(string(limit), "requests."))
				q.Used.Add(sum[of])
				if !says(pod, of) {
					q.Unsaid = append(q.Unsaid, pod.Name)
				}
			}
		}
		if next = page.Continue; next == "" {
			for _, q := range into {
				slices.Sort(q.Unsaid)
			}
			return nil
		}
	}
}

// says says whether each of a pod's containers, or else the pod as a whole, says what it
// requests.
func says(pod *corev1.Pod, of corev1.ResourceName) bool {
	if pod.Spec.Resources != nil {
		if _, whole := pod.Spec.Resources.Requests[of]; whole {
			return true
		}
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if _, said := c.Resources.Requests[of]; !said {
			return false
		}
	}
	return true
}
