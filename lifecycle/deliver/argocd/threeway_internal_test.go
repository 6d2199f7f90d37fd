package argocd

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pharos-dev/pharos/internal/objectjson"
	"github.com/pharos-dev/pharos/lifecycle/deliver/apply"
)

func decoded(t testing.TB, doc string) map[string]any {
	t.Helper()
	o, err := objectjson.Decode([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// appliedBefore is a live object that a manifest was applied to.
func appliedBefore(t testing.TB, live, manifest string) map[string]any {
	t.Helper()
	o := decoded(t, live)
	set(o, "annotations", lastApplied, manifest)
	return o
}

func TestClientSide(t *testing.T) {
	t.Parallel()
	known, err := mergedKinds()
	if err != nil {
		t.Fatal(err)
	}
	service := schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	for name, tt := range map[string]struct {
		gvk                        schema.GroupVersionKind
		last, manifest, live, want string
		form                       apply.Form
	}{
		"a port by its number": {gvk: service, form: apply.FormStrategicMerge,
			last:     `{"metadata":{"name":"api"},"spec":{"ports":[{"port":80}]}}`,
			manifest: `{"metadata":{"name":"api"},"spec":{"ports":[{"port":8080}]}}`,
			live:     `{"metadata":{"name":"api"},"spec":{"ports":[{"port":80,"protocol":"TCP","targetPort":80}],"clusterIP":"10.0.0.1"}}`,
			want:     `"spec":{"$setElementOrder/ports":[{"port":8080}],"ports":[{"port":8080},{"$patch":"delete","port":80}]}`},
		"what others added stays": {gvk: service, form: apply.FormStrategicMerge,
			last:     `{"metadata":{"name":"api"},"spec":{"type":"ClusterIP","sessionAffinity":"ClientIP"}}`,
			manifest: `{"metadata":{"name":"api"},"spec":{"type":"ClusterIP"}}`,
			live:     `{"metadata":{"name":"api","labels":{"by":"others"}},"spec":{"type":"ClusterIP","sessionAffinity":"ClientIP"}}`,
			want:     `"spec":{"sessionAffinity":null}`},
		"a custom resource": {gvk: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Shop"}, form: apply.FormMerge,
			last:     `{"metadata":{"name":"api"},"spec":{"list":[1],"gone":true}}`,
			manifest: `{"metadata":{"name":"api"},"spec":{"list":[2]}}`,
			live:     `{"metadata":{"name":"api"},"spec":{"list":[1],"gone":true,"more":1}}`,
			want:     `"spec":{"gone":null,"list":[2]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := clientSide(known, tt.gvk, decoded(t, tt.manifest), appliedBefore(t, tt.live, tt.last))
			if err != nil || p.form != tt.form || !strings.Contains(string(p.body), tt.want) {
				t.Errorf("%s %s, %v\nwant %s", p.form, p.body, err, tt.want)
			}
		})
	}
}

// A manifest that was applied is no change, byte for byte as kubectl writes it.
func TestClientSideUnchanged(t *testing.T) {
	t.Parallel()
	known, err := mergedKinds()
	if err != nil {
		t.Fatal(err)
	}
	const manifest = `{"apiVersion":"v1","data":{"a":"<b>&"},"kind":"ConfigMap","metadata":{"name":"x"}}`
	live := appliedBefore(t, manifest, strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(manifest)+"\n")
	p, err := clientSide(known, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, decoded(t, manifest), live)
	if err != nil || !p.empty() {
		t.Errorf("%s, %v", p.body, err)
	}
}

func TestReplacement(t *testing.T) {
	t.Parallel()
	p, err := replacement(decoded(t, `{"metadata":{"name":"x"},"data":{"a":"2"}}`),
		decoded(t, `{"metadata":{"name":"x","uid":"u","resourceVersion":"7","labels":{"by":"others"}},"data":{"a":"1","b":"1"},"status":{"s":1}}`))
	if want := `{"data":{"a":"2","b":null},"metadata":{"labels":null}}`; err != nil || string(p.body) != want || p.form != apply.FormMerge {
		t.Errorf("got %s, %v, want %s", p.body, err, want)
	}
}

// Whatever stands in a live object, and in the annotation on it, there is a patch
// or an error.
func FuzzClientSide(f *testing.F) {
	f.Add(`{"spec":{"ports":[{"port":80}]}}`, `{"spec":{"ports":[{"port":8080}]}}`, `{"spec":{"ports":[{"port":80,"protocol":"TCP"}]}}`, true)
	f.Add(`[]`, `{"metadata":{"finalizers":["a"]}}`, `{"metadata":[],"spec":null}`, false)
	f.Add(`{"spec":{"ports":"x"}}`, `{"spec":{"ports":[{"port":8080},null,[]]}}`, `{"spec":{"ports":[{"$patch":"delete"}]},"metadata":{"annotations":1}}`, true)
	known, err := mergedKinds()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, last, manifest, live string, core bool) {
		var m, l map[string]any
		if json.Unmarshal([]byte(manifest), &m) != nil || json.Unmarshal([]byte(live), &l) != nil || m == nil || l == nil {
			return
		}
		set(l, "annotations", lastApplied, last)
		gvk := schema.GroupVersionKind{Version: "v1", Kind: "Service"}
		if !core {
			gvk.Group = "example.com"
		}
		if p, err := clientSide(known, gvk, m, l); err == nil && !json.Valid(p.body) {
			t.Errorf("a patch that is no JSON: %s", p.body)
		}
		if p, err := replacement(m, l); err == nil && !json.Valid(p.body) {
			t.Errorf("a replacement that is no JSON: %s", p.body)
		}
		tracked(m, l, "shop")
		withoutMarks(l)
		mannerOf(nil, annotationsOf(m))
	})
}
