package dockerfile_test

import (
	"archive/tar"
	"fmt"
	"strings"
	"testing"
)

// An epoch other than 0 is the time of all that the image holds, from the context
// and from a step.
func TestEpoch(t *testing.T) {
	t.Parallel()
	const epoch = 1_700_000_000
	f := newFixture(t)
	base := f.host + "/base:1"
	p := project{
		recipe: fmt.Sprintf("{args: {SOURCE_DATE_EPOCH: %q}}", fmt.Sprint(epoch)),
		files: map[string]string{
			"Dockerfile": "FROM " + base + " AS build\nCOPY src /src\nRUN mkdir /out && cp -R /src /out/src && echo x >/out/x\nFROM scratch\nCOPY --from=build /out /out\nCOPY src /src\n",
			"src/a":      "a", "src/b/c": "c",
		},
		lock: map[string]string{base: f.busybox(base)},
	}
	img := f.image(f.build(f.request(p)), "linux/amd64")
	files := 0
	eachFile(t, img, func(h *tar.Header, _ []byte) {
		files++
		if got := h.ModTime.Unix(); got != epoch {
			t.Errorf("%s has the time %s", h.Name, h.ModTime.UTC())
		}
	})
	if files < 8 {
		t.Errorf("the image holds only %d files and folders", files)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Created.Unix() != epoch {
		t.Errorf("it was created at %s", config.Created)
	}
}

// What BuildKit would take for no epoch, or not at all, is an error of the recipe.
func TestEpochsThatAreNone(t *testing.T) {
	t.Parallel()
	f := &fixture{t: t, host: "registry.invalid"}
	f.use(refusing{t})
	for _, value := range []string{"", "context", "abc", "-1", "1.5", "1e3", "4102444800", "99999999999999999999"} {
		p := project{recipe: fmt.Sprintf("{args: {SOURCE_DATE_EPOCH: %q}}", value), files: map[string]string{"Dockerfile": "FROM scratch\n"}}
		if failed := f.fail(f.request(p)); !strings.Contains(failed.Reason, "build.dockerfile.args: SOURCE_DATE_EPOCH is ") {
			t.Errorf("%q: got %v", value, failed)
		}
	}
}
