package main

import (
	"encoding/json"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// park NAME ANNOTATION VALUE… annotates a Deployment as somebody else.
func park(ts *testscript.TestScript, _ bool, args []string) {
	t := ts.Value(testingTB{}).(testing.TB)
	annotations := map[string]string{}
	for i := 1; i+1 < len(args); i += 2 {
		annotations[args[i]] = args[i+1]
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	ts.Check(err)
	deployments := devtest.Client(t, devtest.Cluster(t).Config()).AppsV1().Deployments(ts.Getenv("NS"))
	_, err = deployments.Patch(t.Context(), args[0], types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "somebody"})
	ts.Check(err)
}
