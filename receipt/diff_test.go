package receipt_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/receipt"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	old, new := full(), full()
	new.Parent, new.RollbackOf = receipt.ID(digest("9")), receipt.ID(digest("8"))
	if d := receipt.Diff(old, new); !d.Empty() {
		t.Errorf("two places in the chain differ by %+v", d)
	}

	new.Commit = smallest().Tree
	new.Renderer.Version = "v1"
	web := &new.Images[0]
	web.Fingerprint, web.Platforms, web.Toolchain = digest("1"), web.Platforms[:1], ""
	web.Preimage = []receipt.Field{web.Preimage[0], {Key: "recipe.tags", Value: "netgo"}, {Key: "tree", Value: ""}}
	new.Images[1].Name = "zoo"
	new.Reads = append(new.Reads[1:], "z")
	gone := new.Objects[0]
	new.Objects = new.Objects[1:]
	changed, before := &new.Objects[1], new.Objects[1]
	changed.Version = "v2"
	want := receipt.Difference{
		Fields: []receipt.FieldDiff{{Field: "commit", Old: old.Commit, New: new.Commit}, {Field: "renderer", Old: "kustomize v0.21.2", New: "kustomize v1"}},
		Images: []receipt.ImageDiff{
			{Name: "api", Type: receipt.DiffRemoved, Fields: []receipt.FieldDiff{
				{Field: "fingerprint", Old: digest("e")}, {Field: "digest", Old: digest("f")}, {Field: "repository", Old: "registry.example/api"}, {Field: "platforms", Old: "linux/amd64"},
			}},
			{Name: "web", Type: receipt.DiffChanged, Fields: []receipt.FieldDiff{
				{Field: "fingerprint", Old: digest("b"), New: digest("1")}, {Field: "platforms", Old: "linux/amd64,linux/arm64", New: "linux/amd64"}, {Field: "toolchain", Old: "go1.26.8"},
			}, Inputs: []receipt.FieldDiff{
				{Field: "recipe.ldflags", Old: old.Images[0].Preimage[1].Value}, {Field: "recipe.tags", New: "netgo"}, {Field: "tree"},
			}},
			{Name: "zoo", Type: receipt.DiffAdded, Fields: []receipt.FieldDiff{
				{Field: "fingerprint", New: digest("e")}, {Field: "digest", New: digest("f")}, {Field: "repository", New: "registry.example/api"}, {Field: "platforms", New: "linux/amd64"},
			}},
		},
		Reads: []receipt.ReadDiff{{Path: "base/kustomization.yaml", Type: receipt.DiffRemoved}, {Path: "z", Type: receipt.DiffAdded}},
		Objects: []receipt.ObjectDiff{
			{Type: receipt.DiffRemoved, Old: &gone},
			{Type: receipt.DiffChanged, Old: &before, New: changed},
		},
	}
	got := receipt.Diff(old, new)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Objects[0].Object() != gone || got.Objects[1].Object() != *changed || got.Empty() {
		t.Errorf("the objects are %+v", got.Objects)
	}
	// The other way round, all that was added is removed.
	back := receipt.Diff(new, old)
	if len(back.Fields) != len(got.Fields) || len(back.Images) != len(got.Images) || back.Images[0].Type != receipt.DiffAdded || back.Objects[0].Type != receipt.DiffAdded {
		t.Errorf("the other way round: %+v", back)
	}
}
