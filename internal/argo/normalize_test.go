package argo_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/internal/argo"
)

func TestNormalize(t *testing.T) {
	t.Parallel()
	const gone = `{"op":"remove","path":"/spec/syncPolicy"}`
	for name, tt := range map[string]struct{ spec, want, ops string }{
		"nothing to do":    {`{"project":"shop","syncPolicy":{"automated":{}},"source":{"path":"api"}}`, `{"project":"shop","syncPolicy":{"automated":{}},"source":{"path":"api"}}`, `null`},
		"no spec":          {`{}`, `{}`, `null`},
		"empty policy":     {`{"syncPolicy":{}}`, `{}`, `[` + gone + `]`},
		"policy of naught": {`{"syncPolicy":{"automated":null,"syncOptions":[]}}`, `{}`, `[` + gone + `]`},
		"options":          {`{"syncPolicy":{"syncOptions":["Validate=false"]}}`, `{"syncPolicy":{"syncOptions":["Validate=false"]}}`, `null`},
		"retry":            {`{"syncPolicy":{"retry":{}}}`, `{"syncPolicy":{"retry":{}}}`, `null`},
		"no project":       {`{"project":""}`, `{"project":"default"}`, `[{"op":"replace","path":"/spec/project","value":"default"}]`},
		"source": {`{"source":{"path":"api","kustomize":{"images":[],"labelWithoutSelector":true},"helm":{"parameters":[]},"directory":{"recurse":false,"jsonnet":{}}}}`, `{"source":{"path":"api"}}`,
			`[{"op":"remove","path":"/spec/source/kustomize"},{"op":"remove","path":"/spec/source/helm"},{"op":"remove","path":"/spec/source/directory"}]`},
		"full source": {`{"source":{"kustomize":{"namePrefix":"x"},"helm":{"releaseName":"x"},"directory":{"exclude":"x"}}}`, `{"source":{"kustomize":{"namePrefix":"x"},"helm":{"releaseName":"x"},"directory":{"exclude":"x"}}}`, `null`},
		"sources":     {`{"source":{"helm":{}},"sources":[{"helm":{}}]}`, `{"source":{"helm":{}},"sources":[{"helm":{}}]}`, `null`},
		"other types": {`{"project":1,"syncPolicy":"none","source":{"helm":[]}}`, `{"project":1,"syncPolicy":"none","source":{"helm":[]}}`, `null`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := valueOf[map[string]any](t, tt.spec)
			ops, err := json.Marshal(argo.Normalize(spec))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(valueOf[map[string]any](t, tt.want), spec); diff != "" {
				t.Errorf("the spec: -want +got\n%s", diff)
			}
			if string(ops) != tt.ops {
				t.Errorf("operations %s, want %s", ops, tt.ops)
			}
		})
	}
}

func valueOf[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
