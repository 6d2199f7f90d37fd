package catalogue

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What ONBUILD takes from an image where the catalogue's own image is the base
// is in no fingerprint of what is built on it.
func TestTriggersOfABaseAreRefused(t *testing.T) {
	t.Parallel()
	built := func(name, file string) Image {
		return Image{Name: name, Platforms: []string{"linux/amd64", "linux/arm64"}, Inputs: mustPatterns(t, name), Build: Build{Dockerfile: &DockerfileBuild{Path: file}}}
	}
	program := goImage(t)
	program.Name, program.Build.Go = "program", &GoBuild{Package: "./services/api", Base: "base"}
	c := &Catalogue{Images: []Image{
		built("app", "app/Dockerfile"), built("base", "base/Dockerfile"), built("free", "free/Dockerfile"), program, built("through", "through/Dockerfile"),
	}}
	for onbuild, refused := range map[string]bool{
		"ONBUILD COPY --from=busybox:1 /a /a":                       true,
		"ONBUILD RUN --mount=type=bind,from=busybox:1,target=/x ls": true,
		"ONBUILD COPY . /app":                                       false,
		"ONBUILD RUN make":                                          false,
	} {
		states, failed := statesOf(t, c, append(goFiles(),
			file{path: "base/Dockerfile", content: "FROM scratch AS none\n\nFROM none\n" + onbuild + "\n"},
			file{path: "app/Dockerfile", content: "FROM base\n"}, file{path: "free/Dockerfile", content: "FROM scratch\n"},
			file{path: "through/Dockerfile", content: "FROM program\n"})...)
		if states["base"].Fingerprint == "" || states["free"].Fingerprint == "" || states["program"].Fingerprint == "" {
			t.Errorf("%s: without a fingerprint: %v", onbuild, failed)
		}
		for name, base := range map[string]string{"app": "base", "through": "program"} {
			e, is := errors.AsType[*TriggerError](failed[name])
			switch {
			case is != refused:
				t.Errorf("%s: %s has the error %v", onbuild, name, failed[name])
			case is:
				if diff := cmp.Diff(&TriggerError{Base: base, At: "base/Dockerfile:4", Instruction: onbuild}, e); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		}
	}
}
