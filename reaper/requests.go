package reaper

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	helpers "k8s.io/component-helpers/resource"
)

// requests is what an object requests: CPU in thousandths, memory in bytes.
type requests struct {
	CPU    int64 `json:"cpu,omitempty"`
	Memory int64 `json:"memory,omitempty"`
}

// errUnknownRequests says that an object's pods are as many as there are nodes.
var errUnknownRequests = errors.New("what it requests is not known, since it has a pod on each node: a tier that limits CPU or memory cannot admit it")

// podSpecs are where kinds of objects have the spec of their pods, and how many of
// those there are.
var podSpecs = map[metav1.GroupKind]struct{ spec, count []string }{
	{Kind: "Pod"}:                        {spec: []string{"spec"}},
	{Kind: "ReplicationController"}:      {[]string{"spec", "template", "spec"}, []string{"spec", "replicas"}},
	{Group: "apps", Kind: "Deployment"}:  {[]string{"spec", "template", "spec"}, []string{"spec", "replicas"}},
	{Group: "apps", Kind: "ReplicaSet"}:  {[]string{"spec", "template", "spec"}, []string{"spec", "replicas"}},
	{Group: "apps", Kind: "StatefulSet"}: {[]string{"spec", "template", "spec"}, []string{"spec", "replicas"}},
	{Group: "batch", Kind: "Job"}:        {[]string{"spec", "template", "spec"}, []string{"spec", "parallelism"}},
	{Group: "batch", Kind: "CronJob"}:    {[]string{"spec", "jobTemplate", "spec", "template", "spec"}, []string{"spec", "jobTemplate", "spec", "parallelism"}},
}

// requestsOf adds up what the pods of an object request, as the scheduler does. What
// is no workload requests nothing.
func requestsOf(group, kind string, object map[string]any) (requests, error) {
	gk := metav1.GroupKind{Group: group, Kind: kind}
	if gk == (metav1.GroupKind{Group: "apps", Kind: "DaemonSet"}) {
		return requests{}, errUnknownRequests
	}
	at, ok := podSpecs[gk]
	if !ok {
		return requests{}, nil
	}
	spec, _, err := unstructured.NestedMap(object, at.spec...)
	if err != nil {
		return requests{}, err
	}
	var pod corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &pod.Spec); err != nil {
		return requests{}, fmt.Errorf("read the spec of its pods: %w", err)
	}
	defaultRequests(pod.Spec.InitContainers)
	defaultRequests(pod.Spec.Containers)
	sum := helpers.PodRequests(&pod, helpers.PodResourcesOptions{})
	r := requests{CPU: sum.Cpu().MilliValue(), Memory: sum.Memory().Value()}
	count := int64(1)
	if len(at.count) > 0 {
		if n, found, err := unstructured.NestedInt64(object, at.count...); err != nil {
			return requests{}, err
		} else if found {
			count = n
		}
	}
	if count < 0 || count > 1<<12 || !r.believable() || !(requests{r.CPU * count, r.Memory * count}).believable() {
		return requests{}, fmt.Errorf("%d pods that request %dm CPU and %d bytes each are not to be believed", count, r.CPU, r.Memory)
	}
	return requests{CPU: r.CPU * count, Memory: r.Memory * count}, nil
}

// believable says whether neither is negative, nor so much that sums overflow.
func (r requests) believable() bool {
	const most = 1 << 50 // a petabyte
	return r.CPU >= 0 && r.CPU <= most && r.Memory >= 0 && r.Memory <= most
}

// defaultRequests has containers request what they are limited to, as the API server
// does where they do not say what they request.
func defaultRequests(containers []corev1.Container) {
	for i := range containers {
		c := &containers[i]
		for name, limit := range c.Resources.Limits {
			if _, said := c.Resources.Requests[name]; !said {
				if c.Resources.Requests == nil {
					c.Resources.Requests = corev1.ResourceList{}
				}
				c.Resources.Requests[name] = limit
			}
		}
	}
}
