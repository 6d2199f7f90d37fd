package catalogue

import (
	"errors"
	"slices"
	"testing"
)

// Of some images there is to know what there is of all, but nothing of those that
// they are not built on.
func TestStatesOf(t *testing.T) {
	t.Parallel()
	files := []file{
		{path: "go.mod", content: "module m\n\ngo 1.26.0\n"}, {path: "main.go", content: "package main\n"},
		{path: "deep/Dockerfile", content: "FROM middle\n"}, {path: "middle/Dockerfile", content: "FROM bottom\n"},
		{path: "round/Dockerfile", content: "FROM round\n"}, {path: "broken/Dockerfile", content: "FROM gone:1\n"},
	}
	c := &Catalogue{Images: []Image{
		{Name: "deep", Platforms: []string{"linux/amd64"}, Inputs: mustPatterns(t, "deep"), Build: Build{Dockerfile: &DockerfileBuild{Path: "deep/Dockerfile"}}},
		{Name: "round", Platforms: []string{"linux/amd64"}, Inputs: mustPatterns(t, "round"), Build: Build{Dockerfile: &DockerfileBuild{Path: "round/Dockerfile"}}},
		{Name: "middle", Platforms: []string{"linux/amd64"}, Inputs: mustPatterns(t, "middle"), Build: Build{Dockerfile: &DockerfileBuild{Path: "middle/Dockerfile"}}},
		{Name: "broken", Platforms: []string{"linux/amd64"}, Inputs: mustPatterns(t, "broken"), Build: Build{Dockerfile: &DockerfileBuild{Path: "broken/Dockerfile"}}},
		{Name: "bottom", Platforms: []string{"linux/amd64"}, Inputs: mustPatterns(t, "go.mod", "main.go"), Build: Build{Go: &GoBuild{Package: "."}}},
	}}
	tree := makeTree(t, files...)
	all, err := c.States(t.Context(), tree)
	if len(FailedImages(err)) != 2 {
		t.Fatal(err)
	}
	for image, want := range map[string][]string{
		"bottom": {"bottom"}, "middle": {"middle", "bottom"}, "deep": {"deep", "middle", "bottom"}, "no such": nil,
	} {
		states, err := c.StatesOf(t.Context(), tree, image)
		var names []string
		for _, st := range states {
			names = append(names, st.Image.Name)
			if !slices.ContainsFunc(all, func(of State) bool { return of.Image.Name == st.Image.Name && of.Fingerprint == st.Fingerprint }) {
				t.Errorf("%s: %s has another fingerprint than among all", image, st.Image.Name)
			}
		}
		if err != nil || !slices.Equal(names, want) {
			t.Errorf("%s: states of %v, want %v; %v", image, names, want, err)
		}
	}
	states, err := c.StatesOf(t.Context(), tree, "broken", "round", "bottom")
	var cycle *CycleError
	if len(states) != 1 || len(FailedImages(err)) != 2 || !errors.Is(err, ErrUnlocked) || !errors.As(err, &cycle) {
		t.Errorf("%d states, %v", len(states), err)
	}
}

// What is not in the tree cannot be added to the inputs.
func TestWhatIsNotInTheTree(t *testing.T) {
	t.Parallel()
	tree := makeTree(t, goFiles()...)
	assets := goImage(t)
	assets.Build.Go.Assets = []string{"gone", "README.md"}
	folder := filesImage(t)
	folder.Name, folder.Build.Files = "site", &FilesBuild{From: "nowhere"}
	_, err := (&Catalogue{Images: []Image{assets, folder}}).States(t.Context(), tree)
	want := "image api: gone is not in the tree: correct build.go.assets\n" +
		"image api: README.md is an asset of the image, and is not among its inputs: add it to them\n" +
		"image site: nowhere is not in the tree: correct build.files.from"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestArtifact(t *testing.T) {
	t.Parallel()
	for mediaType, want := range map[string]bool{
		"": false, "application/vnd.oci.image.layer.v1.tar+gzip": false, "application/wasm": true,
	} {
		if got := (Build{Files: &FilesBuild{MediaType: mediaType}}).Artifact(); got != want {
			t.Errorf("%q: %v", mediaType, got)
		}
	}
	if (Build{Go: &GoBuild{}}).Artifact() {
		t.Error("a Go program is an artifact")
	}
}
