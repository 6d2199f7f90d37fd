package environment

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// defaulted are the resources whose limit is what the pod, or else the node, has,
// where a container sets none.
var defaulted = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}

// needsNode says whether a container's value of a resource is what its node has.
func needsNode(of *corev1.ResourceFieldSelector, pod *corev1.PodSpec, c *corev1.Container) bool {
	kind, name, _ := strings.Cut(of.Resource, ".")
	limit, shared := c.Resources.Limits[corev1.ResourceName(name)], podLimit(pod, corev1.ResourceName(name))
	return kind == "limits" && isDefaulted(name) && limit.IsZero() && shared.IsZero()
}

func isDefaulted(name string) bool { return slices.Contains(defaulted, corev1.ResourceName(name)) }

// podLimit is what all containers of a pod share. Ephemeral storage has no such
// limit.
func podLimit(pod *corev1.PodSpec, name corev1.ResourceName) resource.Quantity {
	if pod.Resources == nil || name == corev1.ResourceEphemeralStorage {
		return resource.Quantity{}
	}
	return pod.Resources.Limits[name]
}

// resourceValue returns what the downward API has of a container's resources, as
// the kubelet does (k8s.io/kubernetes/pkg/api/v1/resource). The node's allocatable
// resources count only where needsNode says so.
func resourceValue(of *corev1.ResourceFieldSelector, pod *corev1.PodSpec, c *corev1.Container, allocatable corev1.ResourceList) (string, error) {
	kind, name, _ := strings.Cut(of.Resource, ".")
	if !isDefaulted(name) && !strings.HasPrefix(name, corev1.ResourceHugePagesPrefix) {
		return "", fmt.Errorf("the downward API has no resource %s", of.Resource)
	}
	var quantity resource.Quantity
	switch kind {
	case "requests":
		quantity = c.Resources.Requests[corev1.ResourceName(name)]
	case "limits":
		quantity = c.Resources.Limits[corev1.ResourceName(name)]
		if quantity.IsZero() && isDefaulted(name) {
			if quantity = podLimit(pod, corev1.ResourceName(name)); quantity.IsZero() {
				quantity = allocatable[corev1.ResourceName(name)]
			}
		}
	default:
		return "", fmt.Errorf("the downward API has no resource %s", of.Resource)
	}
	divisor := of.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	count, by := float64(quantity.Value()), float64(divisor.Value())
	if name == string(corev1.ResourceCPU) {
		count, by = float64(quantity.MilliValue()), float64(divisor.MilliValue())
	}
	return strconv.FormatInt(int64(math.Ceil(count/by)), 10), nil
}
