package receipt_test

import (
	"strings"
	"time"

	"github.com/pharos-dev/pharos/receipt"
)

func digest(c string) string { return "sha256:" + strings.Repeat(c, 64) }

// smallest is the record of the package comment.
func smallest() receipt.Record {
	return receipt.Record{
		APIVersion: receipt.APIVersion,
		Kind:       receipt.Kind,
		Target:     receipt.Target{Name: "devbox", ClusterUID: "8f6a2a4e-3c1b-4a53-9d5e-0c8f3f1f2b10"},
		Commit:     strings.Repeat("1", 40),
		Tree:       "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
		Catalogue:  "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		Renderer:   receipt.Renderer{Name: "kustomize", Version: "v0.21.2"},
	}
}

// full is a record that uses every field.
func full() receipt.Record {
	r := smallest()
	r.Parent = receipt.ID(digest("a"))
	r.Images = []receipt.Image{
		{
			Name:        "web",
			Fingerprint: digest("b"),
			Preimage: []receipt.Field{
				{Key: "builder", Value: "golang/1"},
				{Key: "recipe.ldflags", Value: "-X main.motto=\"für <alle> & \u2028 😀\"\n"},
				{Key: "recipe.tags", Value: ""},
			},
			Repository: "localhost:5000/dev/web",
			Digest:     digest("c"),
			Platforms:  []string{"linux/amd64", "linux/arm64"},
			Bases:      []string{"gcr.io/distroless/static@" + digest("d")},
			Toolchain:  "go1.26.8",
		},
		{
			Name:        "api",
			Fingerprint: digest("e"),
			Repository:  "registry.example/api",
			Digest:      digest("f"),
			Platforms:   []string{"linux/amd64"},
		},
	}
	r.Reads = []string{"base/kustomization.yaml", "base/web.yaml", "overlays/dev/kustomization.yaml"}
	r.Objects = []receipt.Object{
		{Version: "v1", Kind: "Namespace", Resource: "namespaces", Name: "shop", Hash: digest("0")},
		{Version: "v1", Kind: "Service", Resource: "services", Namespace: "shop", Name: "web", Hash: digest("1")},
		{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespace: "shop", Name: "web", Hash: digest("2")},
	}
	return r
}

// rollback is a record that delivers the content of an earlier one again.
func rollback() receipt.Record {
	r := smallest()
	r.Parent, r.RollbackOf = receipt.ID(digest("a")), receipt.ID(digest("b"))
	return r
}

func live() receipt.Outcome {
	return receipt.Outcome{
		Type:      receipt.OutcomeLive,
		Time:      time.Date(2026, 3, 4, 5, 6, 7, 89, time.UTC),
		Operation: "op-1",
		Actor:     "ann@laptop",
		Objects: []receipt.Seen{
			{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web", UID: "u-1", Owned: digest("3")},
		},
	}
}
