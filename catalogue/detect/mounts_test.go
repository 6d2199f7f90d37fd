package detect_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/detect"
	"github.com/pharos-dev/pharos/catalogue/source"
)

// What RUN lines mount is declared, and arguments without a value are named.
func TestMountsAndArguments(t *testing.T) {
	t.Parallel()
	files := map[string]source.File{
		"web/Dockerfile": {Content: "FROM scratch\nARG VERSION\nARG MODE=dev\nCOPY a /\n" +
			"RUN --mount=type=secret,id=token --mount=type=secret,id=npm --mount=type=secret,id=token,target=/y x\nRUN --mount=type=ssh x\n"},
		"a": {},
	}
	found := look(t, files, options(t))
	text := string(found.YAML)
	for _, want := range []string{
		"      secrets:\n      - npm\n      - token\n", "      ssh:\n      - default\n",
		"# No value is known of VERSION, which ARG lines declare: build.dockerfile.args gives values.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
	checkIts(t, files, found)
}

func TestMountThatCannotBeDeclared(t *testing.T) {
	t.Parallel()
	found := look(t, map[string]source.File{
		"Dockerfile": {Content: "FROM scratch\nCOPY a /\nRUN --mount=type=secret,id=a/b x\n"}, "a": {},
	}, options(t))
	want := `Dockerfile makes no image yet: RUN mounts "a/b", which a recipe cannot declare: an id has letters, digits, '_', '.' and '-'`
	if len(found.Images) != 0 || !slices.Contains(found.Notes, want) {
		t.Errorf("the images are %v, the notes are %q", found.Images, found.Notes)
	}
}

// A registry that no target takes is not passed over.
func TestRegistryWithoutTarget(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Registry = "registry.example.com/shop"
	_, err := detect.Detect(t.Context(), tree(t, map[string]source.File{"a": {}}), o)
	if !errors.Is(err, detect.ErrOption) || !strings.Contains(err.Error(), "without a kustomization there is none") {
		t.Errorf("got %v", err)
	}
}
