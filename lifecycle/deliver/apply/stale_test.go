package apply_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/lifecycle"
)

// orderedDocs have lists in which the order means something.
const orderedDocs = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: api}
spec:
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec:
      initContainers: [{name: one, image: registry.invalid/one}, {name: two, image: registry.invalid/two}]
      containers:
      - name: api
        image: registry.invalid/api
        env: [{name: A, value: a}, {name: B, value: $(A)}]`

// Who changes the order of a list owns nothing that we did not, and an apply
// would put it back.
func TestAnotherOrderIsNoticed(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]string{"init containers": "initContainers", "variables": "containers/0/env"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			first := b.deliver(t, orderedDocs)
			seen := b.wait(t, first).Seen
			at := "/spec/template/spec/" + list
			patch := `[{"op":"move","from":"` + at + `/0","path":"` + at + `/1"}]`
			deployments := b.admin.AppsV1().Deployments(b.namespace)
			if _, err := deployments.Patch(t.Context(), "api", types.JSONPatchType, []byte(patch), as("hand")); err != nil {
				t.Fatal(err)
			}
			if o := b.observe(t, lifecycle.ObserveRequest{Objects: first, Seen: seen}); len(o.Drifted) != 1 {
				t.Errorf("drifted: %v", o.Drifted)
			}
			r := b.request(t, orderedDocs)
			r.Applied, r.Seen = first, seen
			result, err := b.Deliver(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			want(t, "changes", lines(result.Changes), "configured Deployment "+b.namespace+"/api")
			d, err := deployments.Get(t.Context(), "api", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			pod := d.Spec.Template.Spec
			if i, e := pod.InitContainers, pod.Containers[0].Env; i[0].Name != "one" || i[1].Name != "two" || e[0].Name != "A" || e[1].Name != "B" {
				t.Errorf("the order is %v, %v", i, e)
			}
		})
	}
}

const textSecret = `
apiVersion: v1
kind: Secret
metadata: {name: login}
data: {kept: b25l, both: b25l}
stringData: {password: one, both: "<&two>"}`

// The server keeps no stringData, and its field managers own nothing else.
func TestStringData(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, patch string // of the Secret, by somebody else
		says        string
	}{
		{"nothing happened", `{"metadata":{"labels":{"other":"x"}}}`, "unchanged"},
		{"a value was changed", `{"data":{"password":"dHdv"}}`, "conflict"},
		{"a value was removed", `{"data":{"password":null}}`, "configured"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			first := b.deliver(t, textSecret)
			seen := b.wait(t, first).Seen
			secrets := b.admin.CoreV1().Secrets(b.namespace)
			if _, err := secrets.Patch(t.Context(), "login", types.MergePatchType, []byte(tt.patch), as("hand")); err != nil {
				t.Fatal(err)
			}
			o := b.observe(t, lifecycle.ObserveRequest{Objects: first, Seen: seen})
			if drifted := len(o.Drifted) > 0; drifted != (tt.says != "unchanged") {
				t.Errorf("drifted: %v", o.Drifted)
			}
			r := b.request(t, textSecret)
			r.Applied, r.Seen = first, seen
			b.requests.Reset()
			result, err := b.Deliver(t.Context(), r)
			if (err != nil) != (tt.says == "conflict") {
				t.Error(err)
			}
			want(t, "changes", lines(result.Changes), tt.says+" Secret "+b.namespace+"/login")
			writes := 0
			for _, q := range b.requests.Requests() {
				if q.Method == http.MethodPatch {
					writes++
				}
			}
			if (writes > 0) != (tt.says != "unchanged") {
				t.Errorf("%d writes", writes)
			}
			r.Force = true
			if _, err := b.Deliver(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			b.wantSecret(t, map[string]string{"kept": "one", "both": "<&two>", "password": "one"})

			// What leaves the manifest leaves the Secret.
			b.deliver(t, strings.Replace(textSecret, "password: one, ", "", 1))
			b.wantSecret(t, map[string]string{"kept": "one", "both": "<&two>"})
		})
	}
}

func (b *bench) wantSecret(t *testing.T, values map[string]string) {
	t.Helper()
	s, err := b.admin.CoreV1().Secrets(b.namespace).Get(t.Context(), "login", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Data) != len(values) {
		t.Errorf("it has %d values, want %d", len(s.Data), len(values))
	}
	for key, value := range values {
		if string(s.Data[key]) != value {
			t.Errorf("%s is %q, want %q", key, s.Data[key], value)
		}
	}
}

// What is no Secret that the server would take is left to it to refuse, without a
// word of the values.
func TestStringDataOfNoForm(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const secret = "hunter2-hunter2"
	for _, values := range []string{
		"stringData: [" + secret + "]", "stringData: {a: [" + secret + "]}", "stringData: " + secret,
		"data: " + secret + "\nstringData: {a: b}", "data: {b: " + secret + "!}\nstringData: {a: b}",
	} {
		r := b.request(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\n"+values)
		_, err := b.Deliver(t.Context(), r)
		if err == nil {
			t.Errorf("%s: was taken", values)
			continue
		}
		for _, s := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret))} {
			if strings.Contains(err.Error(), s) {
				t.Errorf("%s: the value is in the message: %v", values, err)
			}
		}
	}
}
