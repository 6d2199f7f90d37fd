package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/reaper/inventory"
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

// People see the first of many findings of a kind and how many there are, and with
// -o wide all. What is not text cannot speak to their terminal.
func TestManyFindings(t *testing.T) {
	t.Parallel()
	r := inventory.Report{Namespaces: []string{"shop"}, Findings: []inventory.Finding{
		{Problem: inventory.Parked, Object: &inventory.Ref{Kind: "Pod", Namespace: "shop", Name: "pod-0"}, Resource: "pods", Message: "parked"},
	}}
	for n := range shown + 5 {
		of := &inventory.Ref{Kind: "Pod", Namespace: "shop", Name: fmt.Sprint("pod-", n)}
		r.Findings = append(r.Findings, inventory.Finding{Problem: inventory.Overdue, Object: of, Resource: "pods", Message: "late"})
		r.Coverage = append(r.Coverage, inventory.Gap{Resource: fmt.Sprint("things", n), Namespace: "shop", Forbidden: true, Message: "forbidden"})
	}
	r.Findings = append(r.Findings, inventory.Finding{Problem: inventory.Climbing, Resource: "pods", Message: "ever more"})
	r.Durable = []inventory.Durable{{Object: inventory.Ref{Kind: "Pod", Name: "a"}, Owner: "\x1b[2Jann"}}
	for format, want := range map[string][]string{
		"":     {"  Overdue Pod shop/pod-19: late\n  Climbing pods: ever more\n  and 5 more that are Overdue: -o wide, or -o json\n", "things19, and 5 more\n", `\x1b[2Jann`},
		"wide": {"  Overdue Pod shop/pod-24: late\n  Climbing pods: ever more\n\nNot read:", "things23, things24\n"},
		"name": {"pod/pod-23\npod/pod-24\n"},
	} {
		streams, _, out, _ := genericiooptions.NewTestIOStreams()
		o := &inventoryOptions{shared: &shared{IOStreams: streams}, output: newOutput(&cobra.Command{})}
		*o.output.flags.OutputFormat = format
		if err := o.print("devbox", r, nil); err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !strings.Contains(out.String(), text) || strings.Contains(out.String(), "\x1b") {
				t.Errorf("-o %q: no %q in\n%s", format, text, out)
			}
		}
		if n := strings.Count(out.String(), "pod/pod-0\n"); format == "name" && n != 1 {
			t.Errorf("pod-0 has two findings, and is named %d times", n)
		}
	}
}
