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
