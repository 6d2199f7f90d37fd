package argocd

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// folders are those of Argo CD's manifests whose objects it cannot do without.
var folders = []string{"crds", filepath.Join("base", "config")}

// resources are the kinds of objects that are created.
var resources = map[string]struct {
	schema.GroupVersionResource
	clusterWide bool
}{
	"Namespace":                {corev1.SchemeGroupVersion.WithResource("namespaces"), true},
	"CustomResourceDefinition": {schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}, true},
	"ConfigMap":                {corev1.SchemeGroupVersion.WithResource("configmaps"), false},
	"Secret":                   {corev1.SchemeGroupVersion.WithResource("secrets"), false},
	"AppProject":               {schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "appprojects"}, false},
}

// large is the kind of object whose definition takes the API server seconds; nothing that runs here waits for it.
const large = "applicationsets.argoproj.io"

// installation is what Argo CD wants to find in the cluster.
type installation struct {
	client dynamic.Interface
	// first is to be there before it starts, and then later.
	first, later []*unstructured.Unstructured
}

func newInstallation(kubeconfig, manifests string) (*installation, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	in := &installation{client: client, first: []*unstructured.Unstructured{object("v1", "Namespace", Namespace, nil)}}
	for _, dir := range folders {
		objects, err := read(filepath.Join(manifests, dir))
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if o.GetName() == large {
				in.later = append(in.later, o)
				continue
			}
			in.first = append(in.first, o)
		}
	}
	for _, o := range in.first {
		if o.GetKind() == "Secret" && o.GetName() == "argocd-secret" {
			// Argo CD's API server makes it otherwise.
			o.Object["stringData"] = map[string]any{"server.secretkey": rand.Text()}
		}
	}
	anything := []any{map[string]any{"group": "*", "kind": "*"}}
	in.first = append(in.first, object("argoproj.io/v1alpha1", "AppProject", "default", map[string]any{
		"sourceRepos":                []any{"*"},
		"destinations":               []any{map[string]any{"namespace": "*", "server": "*"}},
		"clusterResourceWhitelist":   anything,
		"namespaceResourceWhitelist": anything,
	}))
	return in, nil
}

func object(apiVersion, kind, name string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	o.SetName(name)
	if spec != nil {
		o.Object["spec"] = spec
	}
	return o
}

// read returns the objects of the folder's files, all but its kustomization.
func read(dir string) ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		more, err := readFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		objects = append(objects, more...)
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("%s holds no manifests of Argo CD", dir)
	}
	return objects, nil
}

func readFile(path string) (objects []*unstructured.Unstructured, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	decoder := yaml.NewYAMLOrJSONDecoder(bufio.NewReader(f), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
}

// create creates objects in this order. What is there already stays as it is.
func (in *installation) create(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		known, ok := resources[o.GetKind()]
		if !ok {
			return fmt.Errorf("create %s %s: objects of this kind are not expected", o.GetKind(), o.GetName())
		}
		var to dynamic.ResourceInterface = in.client.Resource(known.GroupVersionResource)
		if !known.clusterWide {
			to = in.client.Resource(known.GroupVersionResource).Namespace(Namespace)
		}
		if _, err := to.Create(ctx, o, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		if o.GetKind() == "CustomResourceDefinition" {
			if err := awaitEstablished(ctx, in.client, o.GetName()); err != nil {
				return err
			}
		}
	}
	return nil
}

// awaitEstablished waits until the API server serves what the definition defines.
func awaitEstablished(ctx context.Context, client dynamic.Interface, name string) error {
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	definitions := client.Resource(resources["CustomResourceDefinition"].GroupVersionResource)
	for {
		o, err := definitions.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("wait for %s: %w", name, err)
		}
		// At first they are null, which is not a slice.
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["type"] == "Established" && c["status"] == "True" {
				return nil
			}
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", name, ctx.Err())
		}
	}
}
