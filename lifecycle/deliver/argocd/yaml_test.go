package argocd_test

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func yamlObject(t testing.TB, doc string) map[string]any {
	t.Helper()
	o := map[string]any{}
	if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
		t.Fatalf("%v in %s", err, doc)
	}
	return o
}

// field is a text in an object, by the names of fields with dots between them.
func field(o map[string]any, path string) string {
	s, _, _ := unstructured.NestedString(o, strings.Split(path, ".")...)
	return s
}

func replaceAll(s, old, new string) string { return strings.ReplaceAll(s, old, new) }

func jsonOf(t testing.TB, o map[string]any) []byte {
	t.Helper()
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
