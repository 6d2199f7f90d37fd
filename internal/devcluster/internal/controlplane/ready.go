package controlplane

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pharos-dev/pharos/internal/devcluster/internal/state"
)

// pollInterval is short: a look costs a millisecond, and every test process waits for these looks.
const pollInterval = 10 * time.Millisecond

// AwaitAPIServer waits until the API server of a cluster says that it is ready.
func AwaitAPIServer(ctx context.Context, folder *state.Folder) error {
	return awaitAPIServer(ctx, folder, nil)
}

func awaitAPIServer(ctx context.Context, folder *state.Folder, failed <-chan error) error {
	client, err := starterClient(folder)
	if err != nil {
		return err
	}
	return await(ctx, failed, "the API server to be ready", func() (bool, error) {
		// Until it listens and has its roles, errors are what there is to expect.
		return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil, nil
	})
}

// awaitControllers waits until every part has shown that it works: a piece of work goes through the controllers, the
// scheduler, the hollow node and the garbage collector.
func awaitControllers(ctx context.Context, c Config, failed <-chan error) error {
	client, err := starterClient(c.Folder)
	if err != nil {
		return err
	}
	type step struct {
		what string
		done func() (bool, error)
	}
	steps := []step{
		{"the default service account", func() (bool, error) {
			_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
			return found(err)
		}},
		{"the cluster's certificate in the default namespace", func() (bool, error) {
			_, err := client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
			return found(err)
		}},
		{"the service account of the probe", func() (bool, error) {
			_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceSystem).Get(ctx, "default", metav1.GetOptions{})
			return found(err)
		}},
	}
	if name := c.nodeName(); name != "" {
		steps = append(steps, step{"node " + name + " to be ready", func() (bool, error) {
			node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			if ok, err := found(err); !ok {
				return false, err
			}
			return nodeReady(node), nil
		}})
	}
	if c.Node != nil {
		steps = append(steps, step{"what is beside the node", func() (bool, error) { return c.Node.Ready(ctx) }})
	}
	for _, s := range steps {
		if err := await(ctx, failed, s.what, s.done); err != nil {
			return err
		}
		c.Log.Info("done: wait for " + s.what)
	}
	return c.runProbe(ctx, client, failed)
}

// nodeName is the name of the cluster's only node; empty if it has none.
func (c Config) nodeName() string {
	switch {
	case c.Node != nil:
		return c.Node.Name
	case c.HollowNode:
		return hollowNodeName
	}
	return ""
}

// nodeReady reports whether pods can be scheduled to the node.
func nodeReady(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Effect == corev1.TaintEffectNoSchedule {
			return false
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func starterClient(folder *state.Folder) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", folder.Path(state.Starter.File))
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return kubernetes.NewForConfig(config)
}

// found turns the answer to a get into a condition.
func found(err error) (bool, error) {
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// await calls done until it is true or fails, the context ends, or a part of the cluster fails.
func await(ctx context.Context, failed <-chan error, what string, done func() (bool, error)) error {
	again := time.NewTicker(pollInterval)
	defer again.Stop()
	for {
		ok, err := done()
		if ok || err != nil {
			if err != nil {
				err = fmt.Errorf("wait for %s: %w", what, err)
			}
			return err
		}
		select {
		case <-again.C:
		case err := <-failed:
			return err
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, ctx.Err())
		}
	}
}
