package argocd

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// kinds is a cluster that knows these kinds.
type kinds map[string]bool

func (k kinds) Resolve(_ context.Context, objects []lifecycle.Object) ([]receipt.Object, error) {
	var list []receipt.Object
	for _, o := range objects {
		if !k[o.Kind] {
			return nil, &lifecycle.Error{Op: "resolve", On: o.Kind, Class: lifecycle.ErrSource, Err: errors.New("the cluster does not serve this kind")}
		}
		list = append(list, receipt.Object{Group: o.Group, Version: o.Version, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name})
	}
	return list, nil
}

func (kinds) Observe(context.Context, lifecycle.ObserveRequest) (lifecycle.Observation, error) {
	return lifecycle.Observation{}, nil
}

// A cluster without Argo CD is told from a commit with a kind that nobody knows.
func TestResolveWithoutArgoCD(t *testing.T) {
	t.Parallel()
	objects := []lifecycle.Object{
		{Group: "example.com", Version: "v1", Kind: "Thing", Namespace: "shop", Name: "thing", JSON: []byte(`{"metadata":{"namespace":"shop"}}`)},
		{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application", Namespace: "argocd", Name: "shop", JSON: []byte(`{"metadata":{"namespace":"argocd"}}`)},
	}
	layout, err := Layout{Repository: "https://git.example.com/shop.git", Overlay: "root", Root: "shop"}.resolve()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		cluster kinds
		class   error
		says    string
	}{
		"no Argo CD":   {kinds{"Thing": true}, lifecycle.ErrUnreachable, "Install Argo CD 3.0"},
		"unknown kind": {kinds{"Application": true}, lifecycle.ErrSource, "Thing"},
		"both":         {kinds{"Application": true, "Thing": true}, nil, ""},
	} {
		d := &Deliverer{layout: layout, objects: tt.cluster}
		_, err := d.Resolve(t.Context(), objects)
		if !errors.Is(err, tt.class) || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
