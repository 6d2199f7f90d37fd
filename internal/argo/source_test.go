package argo_test

import (
	"testing"

	"github.com/pharos-dev/pharos/internal/argo"
)

func TestSameRepository(t *testing.T) {
	t.Parallel()
	for _, same := range [][2]string{
		{"https://git.example.com/shop.git", "https://git.example.com/shop"},
		{"https://Git.example.com/Shop/", "https://git.example.com/shop.git"},
		{"git@git.example.com:shop.git", "ssh://git.example.com/shop"},
		{"https://user@git.example.com/shop", "https://git.example.com/shop"},
	} {
		if !argo.SameRepository(same[0], same[1]) {
			t.Errorf("%s and %s are not the same", same[0], same[1])
		}
	}
	for _, other := range [][2]string{{"", ""}, {"https://a/shop", "https://b/shop"}, {"https://a/shop", "https://a/shop2"}, {"http://a:1/shop", "http://a:2/shop"}} {
		if argo.SameRepository(other[0], other[1]) {
			t.Errorf("%s and %s are the same", other[0], other[1])
		}
	}
}

func TestHashSources(t *testing.T) {
	t.Parallel()
	a := argo.Source{"path": "a", "kustomize": map[string]any{"images": []any{"x"}, "namePrefix": "", "commonLabels": map[string]any{}}, "directory": map[string]any{"recurse": false}}
	b := argo.Source{"path": "a", "kustomize": map[string]any{"images": []any{"x"}}}
	if argo.HashSources([]argo.Source{a}) != argo.HashSources([]argo.Source{b}) || !argo.SameSources([]argo.Source{a}, []argo.Source{b}) {
		t.Error("empty fields make a difference")
	}
	if argo.HashSources([]argo.Source{a}) == argo.HashSources([]argo.Source{a, b}) {
		t.Error("the number of sources makes none")
	}
}

func TestOwner(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ metadata, want string }{
		"none":                        {`metadata: {labels: {app.kubernetes.io/instance: shop}}`, ""},
		"set":                         {`metadata: {ownerReferences: [{kind: ApplicationSet, name: shops}]}`, "ApplicationSet argocd/shops"},
		"another owner":               {`metadata: {ownerReferences: [{kind: Job, name: shops}]}`, ""},
		"parent":                      {`metadata: {annotations: {argocd.argoproj.io/tracking-id: "root:argoproj.io/Application:argocd/shop"}}`, "Application argocd/root"},
		"parent of another namespace": {`metadata: {annotations: {argocd.argoproj.io/tracking-id: "team_root:argoproj.io/Application:argocd/shop"}}`, "Application team/root"},
		"copied annotation":           {`metadata: {annotations: {argocd.argoproj.io/tracking-id: "root:argoproj.io/Application:argocd/other"}}`, ""},
		"no annotation":               {`metadata: {annotations: {argocd.argoproj.io/tracking-id: "root"}}`, ""},
		"flux":                        {`metadata: {labels: {helm.toolkit.fluxcd.io/name: a, helm.toolkit.fluxcd.io/namespace: b}}`, "HelmRelease b/a"},
	} {
		o, ok := argo.OwnerOf(with(t, tt.metadata))
		if ok != (tt.want != "") || ok && o.String() != tt.want {
			t.Errorf("%s: got %v, %v", name, o, ok)
		}
	}
}

func TestLastEditor(t *testing.T) {
	t.Parallel()
	a := with(t, `metadata: {managedFields: [
  {manager: argocd, time: "2026-01-02T03:04:09Z", fieldsV1: {"f:status": {}}},
  {manager: pharos, time: "2026-01-02T03:04:07Z", fieldsV1: {"f:spec": {"f:source": {"f:kustomize": {}}}}},
  {manager: kubectl-edit, time: "2026-01-02T03:04:07Z", fieldsV1: {"f:spec": {"f:source": {"f:targetRevision": {}}}}},
  {manager: kubectl, time: "2026-01-02T03:04:08Z", fieldsV1: {"f:spec": {"f:project": {}}}}]}`)
	if m, _ := argo.LastEditor(a); m != "kubectl-edit" {
		t.Errorf("got %s", m)
	}
}
