package standard

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/lifecycle"
)

// Platforms returns the platforms of all nodes by the labels kubernetes.io/os and
// kubernetes.io/arch, which every kubelet sets: the nodes' metadata is a small
// part of them. The error matches lifecycle.ErrForbidden if nodes may not be
// listed.
func (c *Cluster) Platforms(ctx context.Context) ([]string, error) {
	nodes := &metav1.PartialObjectMetadataList{}
	if err := c.listNodes(ctx, kubeclient.MetadataOnlyList, nodes); err != nil {
		return nil, err
	}
	var platforms []string
	for _, node := range nodes.Items {
		if p := platformOf(node.Labels); p != "" {
			platforms = append(platforms, p)
		}
	}
	slices.Sort(platforms)
	return slices.Compact(platforms), nil
}

// Placements goes by the rules of the scheduler that exclude a node for good:
// nodeName, nodeSelector, the required part of the node affinity, and taints
// that are not tolerated and whose effect is NoSchedule or NoExecute. So a
// control plane counts only for what tolerates its taint. Taints below
// node.kubernetes.io, which say that a node is cordoned or not ready now, do not
// exclude it: it may come back any minute. What a node has too little of does
// not count either.
//
// Pods are found wherever an object's kind keeps their description, by its list
// of containers. The error matches lifecycle.ErrForbidden if nodes may not be
// listed.
func (c *Cluster) Placements(ctx context.Context, objects []lifecycle.Object) ([]lifecycle.Placement, error) {
	nodes := &corev1.NodeList{}
	if err := c.listNodes(ctx, "", nodes); err != nil {
		return nil, err
	}
	return placements(objects, nodes.Items)
}

// listNodes reads from the server's cache, where it has one.
func (c *Cluster) listNodes(ctx context.Context, accept string, into runtime.Object) error {
	err := kubeclient.Retry(ctx, func() error {
		r := c.client.Get().Resource("nodes").Param("resourceVersion", "0").MaxRetries(0)
		if accept != "" {
			r = r.SetHeader("Accept", accept)
		}
		return r.Do(ctx).Into(into)
	})
	if apierrors.IsForbidden(err) {
		return &lifecycle.Error{Op: "list", On: "nodes", Class: lifecycle.ErrUnreachable, Err: &forbidden{err},
			Advice: "Ask an administrator for the verb list on nodes."}
	}
	return c.explain("list", "nodes", "nodes", err)
}

// forbidden is an error that is lifecycle.ErrForbidden too.
type forbidden struct{ error }

func (f *forbidden) Unwrap() []error { return []error{f.error, lifecycle.ErrForbidden} }

// platformOf returns the platform that a node's labels tell, or none.
func platformOf(labels map[string]string) string {
	system, architecture := labels[corev1.LabelOSStable], labels[corev1.LabelArchStable]
	if system == "" || architecture == "" {
		return ""
	}
	return catalogue.Platform{OS: system, Architecture: architecture}.Normal().String() // labels tell no variant
}
