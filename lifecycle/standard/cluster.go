package standard

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/lifecycle"
)

// Cluster is a lifecycle.Cluster by way of the core API. It uses get on the
// namespaces kube-system and its own, create on namespaces where its own is
// missing, and list on nodes, which it can do without. It is safe for concurrent
// use.
type Cluster struct {
	client    *rest.RESTClient
	namespace string
}

var _ lifecycle.Cluster = (*Cluster)(nil)

// NewCluster returns a Cluster that keeps Pharos's own objects in a namespace.
// It makes no call.
func NewCluster(config *rest.Config, namespace string) (*Cluster, error) {
	client, err := kubeclient.New(config, corev1.SchemeGroupVersion, corev1.AddToScheme)
	if err != nil {
		return nil, err
	}
	return &Cluster{client: client, namespace: namespace}, nil
}

// UID returns the UID of the namespace kube-system, which stands for the
// cluster's identity. The error matches lifecycle.ErrUnreachable if the cluster
// does not answer or let us in.
func (c *Cluster) UID(ctx context.Context) (string, error) {
	ns, err := c.get(ctx, metav1.NamespaceSystem)
	if err != nil {
		return "", c.explain("identify the cluster", "namespace "+metav1.NamespaceSystem, "namespaces", err)
	}
	return string(ns.UID), nil
}

// Prepare creates the namespace if it is missing, as Namespaces does.
func (c *Cluster) Prepare(ctx context.Context) error {
	_, err := c.get(ctx, c.namespace)
	if !apierrors.IsNotFound(err) {
		return c.explain("read", "namespace "+c.namespace, "namespaces", err)
	}
	ns := namespace(c.namespace)
	err = kubeclient.Retry(ctx, func() error {
		return c.client.Post().Resource("namespaces").Body(ns).MaxRetries(0).Do(ctx).Error()
	})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return c.explain("create", "namespace "+c.namespace, "namespaces", err)
}

func (c *Cluster) get(ctx context.Context, name string) (*corev1.Namespace, error) {
	ns := &corev1.Namespace{}
	err := kubeclient.Retry(ctx, func() error {
		return c.client.Get().Resource("namespaces").Name(name).MaxRetries(0).Do(ctx).Into(ns)
	})
	return ns, err
}

func (c *Cluster) explain(op, on, resource string, err error) error {
	if err == nil {
		return nil
	}
	e := &lifecycle.Error{Op: op, On: on, Err: err}
	switch {
	case apierrors.IsForbidden(err):
		e.Class, e.Advice = lifecycle.ErrUnreachable, "Ask an administrator for this right on "+resource+"."
	case apierrors.IsUnauthorized(err):
		e.Class, e.Advice = lifecycle.ErrUnreachable, "Renew the credentials of the kubeconfig's user."
	case kubeclient.Unavailable(err):
		e.Class, e.Advice = lifecycle.ErrUnreachable, "Check that the cluster is up and that the kubeconfig's context is the right one."
	}
	return e
}
