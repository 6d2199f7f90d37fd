package apply

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// lastWords is the end of the log of the pod that a Job failed with, where its
// container left no other message. Only Jobs are asked: what they say last is
// why, while the log of what serves others may hold what those sent.
func (d *Deliverer) lastWords(ctx context.Context, u unstructured.Unstructured, pods []corev1.Pod) string {
	if gk := u.GroupVersionKind().GroupKind(); gk.Group != "batch" || gk.Kind != "Job" {
		return ""
	}
	for _, p := range pods { // the newest first
		for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			if t := c.State.Terminated; t != nil && t.ExitCode != 0 && strings.TrimSpace(t.Message) == "" {
				return d.logEnd(ctx, p, c.Name, false)
			}
			if t := c.LastTerminationState.Terminated; t != nil && t.ExitCode != 0 && strings.TrimSpace(t.Message) == "" {
				return d.logEnd(ctx, p, c.Name, true)
			}
		}
	}
	return ""
}

func (d *Deliverer) logEnd(ctx context.Context, p corev1.Pod, container string, previous bool) string {
	query := url.Values{"container": {container}, "tailLines": {"5"}, "limitBytes": {"4096"}}
	if previous {
		query.Set("previous", "true")
	}
	var text string
	_, err := d.client.try(ctx, request{
		method: http.MethodGet, path: path.Join(collection{"", "v1", "Pod", "pods", p.Namespace}.path(), p.Name, "log"),
		query: query, accept: "*/*", into: &text,
	})
	if text = strings.TrimSpace(text); err != nil || text == "" {
		return ""
	}
	return "; its log ends: " + strings.ToValidUTF8(text, "\uFFFD")
}
