package shop_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/examples/quickstart/shop"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

func create(t *testing.T) *shop.Repository {
	t.Helper()
	r, err := shop.Create(t.Context(), t.TempDir(), shop.Options{
		Namespace: "shop", Receipts: "pharos", Push: "localhost:5000/shop", Pull: "registry.local/shop",
		Platforms: []string{"linux/amd64", "linux/arm64"}, BuildKit: "unix:///run/buildkit.sock",
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestShopIsAsItShouldBe holds the shop to what Pharos itself says of it.
func TestShopIsAsItShouldBe(t *testing.T) {
	t.Parallel()
	r := create(t)
	if err := r.Commit(t.Context(), "Open the shop"); err != nil {
		t.Fatal(err)
	}
	repo, err := source.Open(r.Dir())
	if err != nil {
		t.Fatal(err)
	}
	commit, err := repo.Commit(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalogue.Load(t.Context(), commit.Tree)
	if err != nil {
		t.Fatal(err)
	}
	states, err := c.States(t.Context(), commit.Tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range states {
		if !slices.Equal(st.Image.Platforms, []string{"linux/amd64", "linux/arm64"}) {
			t.Errorf("%s is built for %v", st.Image.Name, st.Image.Platforms)
		}
	}
	targets, err := standard.ReadTargets(t.Context(), commit.Tree)
	if err != nil {
		t.Fatal(err)
	}
	target, err := standard.SelectTarget(targets, shop.Target)
	if err != nil {
		t.Fatal(err)
	}
	want := standard.Registry{Push: "localhost:5000/shop", Pull: "registry.local/shop"}
	if target.Registry != want || target.Namespace != "pharos" {
		t.Errorf("the target is %+v", target)
	}
}

// TestServicesAreGoodGo builds and vets the services, which no other build of
// this module sees.
func TestServicesAreGoodGo(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "vet", "./...")
	cmd.Dir = create(t).Dir()
	cmd.Env = append(cmd.Environ(), "GOWORK=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestCommitsDependOnContentOnly(t *testing.T) {
	t.Setenv("GIT_DIR", filepath.Join(t.TempDir(), "of-a-hook"))
	t.Setenv("GIT_AUTHOR_NAME", "Somebody Else")
	var heads []string
	for range 2 {
		r := create(t)
		if err := r.Commit(t.Context(), "Open the shop"); err != nil {
			t.Fatal(err)
		}
		if err := r.Replace("README.md", "Three", "3"); err != nil {
			t.Fatal(err)
		}
		if err := r.Commit(t.Context(), "Count in digits"); err != nil {
			t.Fatal(err)
		}
		changed, err := r.Changed(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"README.md", "-Three services, delivered by Pharos.", "+3 services, delivered by Pharos."}
		if !slices.Equal(changed, want) {
			t.Errorf("changed: %q", changed)
		}
		repo, err := source.Open(r.Dir())
		if err != nil {
			t.Fatal(err)
		}
		commit, err := repo.Commit(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		heads = append(heads, string(commit.ID))
	}
	if heads[0] != heads[1] {
		t.Errorf("the same content has the commits %s and %s", heads[0], heads[1])
	}
}

func TestReplaceWantsTheTextOnce(t *testing.T) {
	t.Parallel()
	r := create(t)
	for _, text := range []string{"four services", "services/orders"} {
		if err := r.Replace("pharos.yaml", text, "x"); err == nil || !strings.Contains(err.Error(), "pharos.yaml") {
			t.Errorf("replaced %q: %v", text, err)
		}
	}
}
