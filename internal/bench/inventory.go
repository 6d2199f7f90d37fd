package main

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/keys"
)

// inventoryObjects is how many objects a namespace holds that is looked at: a fifth
// are Deployments, and half of the rest transient ConfigMaps.
const inventoryObjects = 10_000

// inventories compares a look at everything in a namespace with kubectl, which lists
// the same resources.
func inventories(ctx context.Context, b *bench) ([]comparison, error) {
	kubectl, err := devenv.Kubectl(ctx, b.progress)
	if err != nil {
		return nil, err
	}
	plugin, err := b.plugin(ctx)
	if err != nil {
		return nil, err
	}
	cluster, err := devenv.Start(ctx, devenv.Options{Output: b.progress})
	if err != nil {
		return nil, err
	}
	b.closers = append(b.closers, cluster.Stop)
	const namespace = "inventory"
	fmt.Fprintf(b.progress, "creating %d objects\n", inventoryObjects)
	if err := fill(ctx, cluster.Config(), namespace); err != nil {
		return nil, err
	}
	dir, err := b.folder("inventory") // no repository
	if err != nil {
		return nil, err
	}
	env := []string{"KUBECONFIG=" + cluster.Kubeconfig()}
	cache := "--cache-dir=" + dir
	names, err := command{path: kubectl, args: []string{"api-resources", "--verbs=list,delete", "--namespaced", "--output=name", cache}, env: env}.output(ctx)
	if err != nil {
		return nil, err
	}
	var resources []string
	for _, name := range strings.Fields(names) {
		if name != "secrets" && name != "endpoints" && !strings.HasPrefix(name, "events") {
			resources = append(resources, name)
		}
	}
	ours := command{path: plugin, args: []string{"inventory", "--namespace=" + namespace, cache}, dir: dir, env: env}
	get := func(output string) command {
		return command{path: kubectl, args: []string{"get", strings.Join(resources, ","), "--namespace=" + namespace, "--ignore-not-found", "--output=" + output, cache}, env: env}
	}
	name := fmt.Sprintf("inventory of %d objects", inventoryObjects)
	return []comparison{
		{name: name, ours: side{name: "kubectl pharos inventory", run: ours.run}, peer: side{name: "kubectl get -o name of everything", run: get("name").run}},
		{name: name, ours: side{name: "kubectl pharos inventory", run: ours.run}, peer: side{name: "kubectl get -o json of everything", run: get("json").run}},
	}, nil
}

// fill makes a namespace with the objects.
func fill(ctx context.Context, config *rest.Config, namespace string) error {
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if _, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for n := range inventoryObjects {
		meta := metav1.ObjectMeta{Name: fmt.Sprintf("object-%05d", n)}
		if n%5 == 0 {
			g.Go(func() error {
				labels := map[string]string{"app": meta.Name}
				_, err := client.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
					Replicas: new(int32), Selector: &metav1.LabelSelector{MatchLabels: labels},
					Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "registry.local/app"}}}},
				}}, metav1.CreateOptions{})
				return err
			})
			continue
		}
		if n%2 == 0 {
			meta.Labels, meta.Annotations = map[string]string{keys.Intent: "transient"}, map[string]string{keys.TTL: "7d"}
		}
		g.Go(func() error {
			_, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"settings": strings.Repeat("x", 1024)}}, metav1.CreateOptions{})
			return err
		})
	}
	return g.Wait()
}
