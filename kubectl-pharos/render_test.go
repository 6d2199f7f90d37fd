package main

import (
	"encoding/json"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// refused KIND has the Deployments of the List on stdout applied, which the API
// server must refuse, by whatever means they are applied.
func refused(ts *testscript.TestScript, _ bool, args []string) {
	t := ts.Value(testingTB{}).(testing.TB)
	var list struct{ Items []json.RawMessage }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &list))
	client := devtest.Client(t, devtest.Cluster(t).Config()).AppsV1().RESTClient()
	tried := 0
	for _, item := range list.Items {
		var o struct {
			Kind     string
			Metadata struct{ Namespace, Name string }
		}
		ts.Check(json.Unmarshal(item, &o))
		if o.Kind != args[0] {
			continue
		}
		tried++
		at := client.Post().Namespace(o.Metadata.Namespace).Resource("deployments")
		if err := at.Body([]byte(item)).SetHeader("Content-Type", "application/json").Do(t.Context()).Error(); !apierrors.IsInvalid(err) {
			ts.Fatalf("created: %v", err)
		}
		patch := client.Patch(types.ApplyPatchType).Namespace(o.Metadata.Namespace).Resource("deployments").Name(o.Metadata.Name)
		if err := patch.Param("fieldManager", "somebody").Body([]byte(item)).Do(t.Context()).Error(); !apierrors.IsInvalid(err) {
			ts.Fatalf("applied: %v", err)
		}
	}
	if tried == 0 {
		ts.Fatalf("there is no %s", args[0])
	}
}
