package apply_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	list := b.objects(t, configMap+"\n---\n"+deployment+"\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n---"+declaring)
	got := resolve(t, b.Deliverer, list)
	wanted := []receipt.Object{
		{Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespace: b.namespace, Name: "settings"},
		{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespace: b.namespace, Name: "api"},
		{Version: "v1", Kind: "Namespace", Resource: "namespaces", Name: "other"},
		{Group: "pharos.test", Version: "v1", Kind: "Lamp", Resource: "lampen", Name: "north"},
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition", Resource: "customresourcedefinitions", Name: "lampen.pharos.test"},
	}
	for i, w := range wanted {
		sum := sha256.Sum256(list[i].JSON)
		w.Hash = "sha256:" + hex.EncodeToString(sum[:])
		if got[i] != w {
			t.Errorf("got  %+v\nwant %+v", got[i], w)
		}
	}
	if n := len(b.requests.Requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
	resolve(t, b.Deliverer, list)
	if n := len(b.requests.Requests()); n != 2 {
		t.Errorf("%d requests after the second time", n)
	}
}

const declaring = `
apiVersion: pharos.test/v1
kind: Lamp
metadata: {name: north}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lampen.pharos.test}
spec:
  group: pharos.test
  scope: Cluster
  names: {plural: lampen, kind: Lamp}
  versions:
  - {name: v1, served: true, storage: true}
  - {name: v2, served: false, storage: false}`

func TestResolveAsksNothingWithoutNeed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if got := resolve(t, b.Deliverer, nil); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	if sent := b.requests.Requests(); len(sent) > 0 {
		t.Errorf("sent %v", sent)
	}
	resolve(t, b.Deliverer, b.objects(t, configMap))
	if sent := b.requests.Requests(); len(sent) != 1 || sent[0].Path != "/api" {
		t.Errorf("sent %v", sent)
	}
}

func TestResolveReportsAllProblems(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.Resolve(t.Context(), b.objects(t, `
apiVersion: example.com/v1
kind: Wizard
metadata: {name: a}
---
apiVersion: example.com/v1
kind: Wizard
metadata: {name: b}
---
apiVersion: v1
kind: ConfigMapp
metadata: {name: c}
---
apiVersion: v1
kind: Namespace
metadata: {name: d, namespace: e}
---
apiVersion: v1
kind: ConfigMap
metadata: {generateName: f-}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: g}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: g, namespace: NS}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: ../h}
---`+declaring+`
---
apiVersion: pharos.test/v2
kind: Lamp
metadata: {name: south}`))
	var e *lifecycle.Error
	if !errors.Is(err, lifecycle.ErrSource) || !errors.As(err, &e) {
		t.Fatalf("got %v", err)
	}
	mustContain(t, err.Error(),
		"Wizard of example.com/v1 (Wizard a, Wizard b): the cluster does not serve this kind",
		"ConfigMapp of v1 (ConfigMapp c)",
		"Lamp of pharos.test/v2 (Lamp south)",
		`Namespace e/d: has the namespace "e", but its kind is cluster-scoped`,
		"ConfigMap: has no metadata.name",
		"ConfigMap "+b.namespace+"/g: is there twice",
		`"../h" is no name`,
		"add the CustomResourceDefinition")
}
