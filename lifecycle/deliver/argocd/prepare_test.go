package argocd_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/deliver/argocd"
	"github.com/pharos-dev/pharos/receipt"
)

func TestPrepare(t *testing.T) {
	t.Parallel()
	p, err := argocd.NewPreparer(argocd.Layout{Repository: shopURL, Overlay: "gitops/", Root: "devbox"})
	if err != nil {
		t.Fatal(err)
	}
	r := lifecycle.PrepareRequest{Target: "devbox", Namespace: "pharos", Account: "pharos-devbox-deliver", Resolved: []receipt.Object{
		{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespace: "shop", Name: "api"},
		{Version: "v1", Kind: "Namespace", Resource: "namespaces", Name: "shop"},
		{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application", Resource: "applications", Namespace: "argocd", Name: "devbox"},
	}}
	steps, err := p.Prepare(t.Context(), r)
	if err != nil || len(steps) != 1 || len(steps[0].Create) != 1 || len(steps[0].Apply) != 3 {
		t.Fatalf("%+v, %v", steps, err)
	}
	root, project := yamlObject(t, string(steps[0].Create[0].JSON)), yamlObject(t, string(steps[0].Apply[0].JSON))
	if diff := cmp.Diff(yamlObject(t, `
project: pharos-devbox
source: {repoURL: "`+shopURL+`", path: gitops, targetRevision: pharos-has-not-delivered-yet}
destination: {server: "https://kubernetes.default.svc", namespace: argocd}
syncPolicy: {automated: {prune: false, selfHeal: true}}
`), root["spec"]); diff != "" {
		t.Errorf("the root: -want +got\n%s", diff)
	}
	if diff := cmp.Diff(yamlObject(t, `
description: What Pharos delivers to the target devbox
sourceRepos: ["`+shopURL+`"]
destinations: [{server: "https://kubernetes.default.svc", namespace: argocd}, {server: "https://kubernetes.default.svc", namespace: shop}]
clusterResourceWhitelist: [{group: "", kind: Namespace}]
namespaceResourceWhitelist: [{group: apps, kind: Deployment}]
`), project["spec"]); diff != "" {
		t.Errorf("the project: -want +got\n%s", diff)
	}
	// The same comes of another commit with the same kinds: the step is done.
	r.Commit = "0123456789012345678901234567890123456789"
	again, err := p.Prepare(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(steps, again); diff != "" {
		t.Errorf("another commit: -one +other\n%s", diff)
	}
	list, err := argocd.NewPreparer(argocd.Layout{Repository: shopURL, Overlay: ".", Applications: []argocd.Part{{Name: "api"}}})
	if err != nil {
		t.Fatal(err)
	}
	if steps, err = list.Prepare(t.Context(), r); err != nil || len(steps[0].Create) != 0 || len(steps[0].Apply) != 2 {
		t.Errorf("Applications side by side: %+v, %v", steps, err)
	}
}
