package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// failing lists the pods that the workload owns and that fail.
func (w *Workload) failing(ctx context.Context, o *unstructured.Unstructured) ([]corev1.Pod, error) {
	selector, err := selectorOf(o)
	if err != nil {
		return nil, fmt.Errorf("read the selector of %s: %w", w, err)
	}
	owners := map[types.UID]bool{o.GetUID(): true}
	if w.config.Kind == Deployment {
		sets := map[types.UID]bool{}
		err := w.list(ctx, apps("replicasets"), selector, func(u *unstructured.Unstructured) error {
			if ownedBy(u, owners) {
				sets[u.GetUID()] = true
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		owners = sets
	}
	var failing []corev1.Pod
	now := w.config.Now()
	err = w.list(ctx, corev1.SchemeGroupVersion.WithResource("pods"), selector, func(u *unstructured.Unstructured) error {
		if !ownedBy(u, owners) {
			return nil
		}
		var p corev1.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &p); err != nil {
			return fmt.Errorf("read pod %s/%s: %w", u.GetNamespace(), u.GetName(), err)
		}
		if since, unready := unreadySince(&p); unready && now.Sub(since) >= w.config.Patience {
			failing = append(failing, p)
		}
		return nil
	})
	return failing, err
}

// page is how many objects one request lists.
const page = 500

// list calls each for all objects of a resource that are selected.
func (w *Workload) list(ctx context.Context, r schema.GroupVersionResource, selector string, each func(*unstructured.Unstructured) error) error {
	o := metav1.ListOptions{LabelSelector: selector, Limit: page}
	for {
		list, err := w.resource(r).List(ctx, o)
		if err != nil {
			return fmt.Errorf("list the %s of %s: %w", r.Resource, w, err)
		}
		for i := range list.Items {
			if err := each(&list.Items[i]); err != nil {
				return err
			}
		}
		if o.Continue = list.GetContinue(); o.Continue == "" {
			return nil
		}
	}
}

func selectorOf(o *unstructured.Unstructured) (string, error) {
	raw, _, err := unstructured.NestedMap(o.Object, "spec", "selector")
	if err != nil {
		return "", err
	}
	var labels metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &labels); err != nil {
		return "", err
	}
	selector, err := metav1.LabelSelectorAsSelector(&labels)
	if err != nil {
		return "", err
	}
	if selector.Empty() {
		return "", errors.New("it selects everything")
	}
	return selector.String(), nil
}

// ownedBy says whether one of the owners is the object's controller: a label alone is
// no proof.
func ownedBy(o *unstructured.Unstructured, owners map[types.UID]bool) bool {
	c := metav1.GetControllerOf(o)
	return c != nil && owners[c.UID]
}

// unreadySince says since when a pod is not ready, if it should be.
func unreadySince(p *corev1.Pod) (time.Time, bool) {
	if p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return time.Time{}, false
	}
	c := readiness(p)
	if c == nil {
		return p.CreationTimestamp.Time, true
	}
	return c.LastTransitionTime.Time, c.Status != corev1.ConditionTrue
}

func readiness(p *corev1.Pod) *corev1.PodCondition {
	for i, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

// describe says what is wrong with some pods, by the first of them. What containers
// wrote themselves is left out: it may hold secrets.
func describe(failing []corev1.Pod) string {
	if len(failing) == 0 {
		return ""
	}
	p := &failing[0]
	since, _ := unreadySince(p)
	text := fmt.Sprintf("pod %s is not ready since %s", p.Name, since.UTC().Format(time.RFC3339))
	for _, c := range p.Status.Conditions {
		if (c.Type == corev1.PodScheduled || c.Type == corev1.PodReady) && c.Status != corev1.ConditionTrue {
			text += ": " + strings.TrimSuffix(c.Reason+": "+c.Message, ": ")
			break
		}
	}
	for _, list := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for _, c := range list {
			if c.State.Waiting != nil {
				text += fmt.Sprintf("; container %s waits: %s", c.Name, c.State.Waiting.Reason)
			}
		}
	}
	if more := len(failing) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}
