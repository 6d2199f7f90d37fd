package main

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

func TestUnheededBuildFlags(t *testing.T) {
	t.Parallel()
	o := standard.Options{
		Secrets: map[string]func(context.Context) ([]byte, error){"npmrc": nil, "tokn": nil, "other-thing": nil}, SSH: map[string]string{"default": "", "deploi": ""},
	}
	images := []catalogue.Image{
		{Name: "api", Build: catalogue.Build{Go: &catalogue.GoBuild{}}},
		{Name: "web", Build: catalogue.Build{Dockerfile: &catalogue.DockerfileBuild{Secrets: []string{"npmrc", "token"}, SSH: []string{"default"}}}},
		{Name: "job", Build: catalogue.Build{Dockerfile: &catalogue.DockerfileBuild{Secrets: []string{"npmrc"}, SSH: []string{"deploy"}}}},
	}
	unknown := []string{
		"--secret other-thing: no image declares it under build.dockerfile.secrets", "--secret tokn: no image declares it; did you mean token?",
		"--ssh deploi: no image declares it; did you mean deploy?",
	}
	if diff := cmp.Diff(unknown, unheeded(o, images)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
