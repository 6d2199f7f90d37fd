package main

import (
	"testing"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// Folders of a registry overlap however its host is spelled.
func TestFoldersThatOverlap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"registry.example.com/dev", "registry.example.com/dev", true},
		{"registry.example.com", "registry.example.com/dev", true},
		{"registry.example.com/dev/shop", "registry.example.com/dev", true},
		{"Registry.example.com/dev", "registry.example.com/dev", true},
		{"registry.example.com./dev", "registry.example.com/dev", true},
		{"registry.example.com:443/dev", "registry.example.com/dev", true},
		{"localhost:5000/dev", "127.0.0.1:5000/dev", true},
		{"[::1]:5000/dev", "127.0.0.1:5000/dev", true},
		{"[::1]/dev", "localhost/dev", true},
		{"k3d-registry.localhost:5000/dev", "localhost:5000/dev", true},
		{"Registry.Example.COM.:443/dev", "registry.example.com/dev/api", true},
		{"[2001:0DB8:0:0::1]:80/dev", "[2001:db8::1]/dev", true},
		{"[::ffff:10.0.0.1]:5000/dev", "10.0.0.1:5000/dev", true},
		{"localhost.example.com:5000/dev", "localhost:5000/dev", false},
		{"docker.io/me", "index.docker.io/me", true},
		{"registry.example.com/dev", "registry.example.com/device", false},
		{"registry.example.com/dev", "registry.example.com/prod", false},
		{"registry.example.com:5000/dev", "registry.example.com/dev", false},
		{"localhost:5000/dev", "localhost:5001/dev", false},
		{"10.0.0.1:5000/dev", "10.0.0.2:5000/dev", false},
	} {
		a, b := standard.Registry{Push: tt.a, Pull: "a.example.com/a"}, standard.Registry{Push: tt.b, Pull: "b.example.com/b"}
		if got := overlap(a, b) || overlap(b, a); got != tt.want {
			t.Errorf("%s and %s: %t", tt.a, tt.b, got)
		}
	}
	pulled := standard.Registry{Push: "localhost:5000/dev", Pull: "registry.example.com/dev"}
	if !overlap(pulled, standard.Registry{Push: "localhost:6000/dev", Pull: "registry.example.com/dev"}) {
		t.Error("two that pull from the same folder")
	}
	if !overlap(pulled, standard.Registry{Push: "registry.example.com/dev", Pull: "registry.example.com/dev"}) {
		t.Error("one that pulls from where the other pushes to")
	}
}

// What looks unused stays where nothing says that the cluster is the only one.
func TestUnusedOfAClusterThatIsNotNamed(t *testing.T) {
	t.Parallel()
	here := countedTarget{name: "devbox", context: "kind", push: "registry.example.com/dev"}
	named, local := here, here
	named.named, local.push = true, "127.0.0.1:5000/dev"
	for _, tt := range []struct {
		what    string
		counted []countedTarget
		request lifecycle.DeleteImagesRequest
		refused bool
	}{
		{"not named", []countedTarget{named, here}, lifecycle.DeleteImagesRequest{Unused: true}, true},
		{"named", []countedTarget{named}, lifecycle.DeleteImagesRequest{Unused: true}, false},
		{"on this machine", []countedTarget{local}, lifecycle.DeleteImagesRequest{Unused: true}, false},
		{"a dry run", []countedTarget{here}, lifecycle.DeleteImagesRequest{Unused: true, DryRun: true}, false},
		{"by digest", []countedTarget{here}, lifecycle.DeleteImagesRequest{Digests: []lifecycle.Digest{"sha256:0"}}, false},
	} {
		if err := (&shared{counted: tt.counted}).checkCounted(tt.request); (err != nil) != tt.refused {
			t.Errorf("%s: %v", tt.what, err)
		}
	}
}
