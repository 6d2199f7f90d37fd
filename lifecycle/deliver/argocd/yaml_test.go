package argocd_test

import (
	"testing"

	"sigs.k8s.io/yaml"
)

func yamlObject(t testing.TB, doc string) map[string]any {
	t.Helper()
	o := map[string]any{}
	if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
		t.Fatal(err)
	}
	return o
}
