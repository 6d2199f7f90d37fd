package main

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// create FILE makes the objects of a file as an administrator.
func create(ts *testscript.TestScript, _ bool, args []string) {
	t := ts.Value(testingTB{}).(testing.TB)
	client, err := dynamic.NewForConfig(devtest.Cluster(t).Config())
	ts.Check(err)
	for doc := range strings.SplitSeq(ts.ReadFile(args[0]), "\n---\n") {
		u := &unstructured.Unstructured{}
		ts.Check(yaml.Unmarshal([]byte(doc), &u.Object))
		resource, _ := meta.UnsafeGuessKindToResource(u.GroupVersionKind())
		_, err := client.Resource(resource).Namespace(u.GetNamespace()).Create(t.Context(), u, metav1.CreateOptions{})
		ts.Check(err)
	}
}

// edit NAME PATCH changes a ConfigMap, as somebody.
func edit(ts *testscript.TestScript, _ bool, args []string) {
	t := ts.Value(testingTB{}).(testing.TB)
	maps := devtest.Client(t, devtest.Cluster(t).Config()).CoreV1().ConfigMaps(ts.Getenv("NS"))
	_, err := maps.Patch(t.Context(), args[0], types.MergePatchType, []byte(args[1]), metav1.PatchOptions{FieldManager: "somebody"})
	ts.Check(err)
}

// deleteMap NAME deletes a ConfigMap.
func deleteMap(ts *testscript.TestScript, _ bool, args []string) {
	t := ts.Value(testingTB{}).(testing.TB)
	maps := devtest.Client(t, devtest.Cluster(t).Config()).CoreV1().ConfigMaps(ts.Getenv("NS"))
	ts.Check(maps.Delete(t.Context(), args[0], metav1.DeleteOptions{}))
}
