package dockerfile

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBases(t *testing.T) {
	t.Parallel()
	arm := Options{Platform: "linux/arm/v7"}
	for _, tc := range []struct {
		name, content string
		o             Options
		want          []string
	}{
		{"one", "FROM alpine:3", Options{}, []string{"alpine:3"}},
		{"scratch", "FROM scratch\nCOPY --from=scratch a b", Options{}, nil},
		{"each once, in order", "FROM b\nCOPY --from=a x y\nFROM a\nCOPY --from=0 x y\nCOPY --from=c x y", Options{}, []string{"b", "a", "c"}},
		{"stages by name in any case", "FROM a AS One\nFROM one\nCOPY --from=ONE x y\nRUN --mount=from=oNe,target=/x true", Options{}, []string{"a"}},
		{"stages by number", "FROM a\nFROM b\nFROM scratch\nCOPY --from=1 x y", Options{}, []string{"b"}},
		{"a mount takes no numbers", "FROM a\nFROM b\nRUN --mount=from=0,target=/x true", Options{}, []string{"b", "0"}},
		{"kinds of mounts", "FROM a\nRUN --mount=type=cache,from=b,target=/x --mount=type=bind,from=c,target=/y true", Options{}, []string{"a", "b", "c"}},
		{"a stage before its definition is an image", "FROM later\nFROM b AS later", Options{Target: "later"}, []string{"b"}},
		{"the nearest stage of a name", "FROM a AS x\nFROM b AS x\nFROM x", Options{}, []string{"b"}},
		{"only what the target needs", "FROM a AS x\nFROM b AS y\nCOPY --from=z c d\nFROM x AS w\nRUN --mount=from=y,target=/y true\nFROM e AS v", Options{Target: "W"}, []string{"a", "b", "z"}},
		{"the last stage", "FROM a AS x\nFROM b AS y", Options{}, []string{"b"}},
		{"default", "ARG V=1\nARG W=${V}.2\nFROM a:$W", Options{}, []string{"a:1.2"}},
		{"given", "ARG V=1\nARG W=${V}.2\nFROM a:$W", Options{Args: map[string]string{"V": "3"}}, []string{"a:3.2"}},
		{"given without default", "ARG V\nFROM a:$V", Options{Args: map[string]string{"V": "3"}}, []string{"a:3"}},
		{"several in one ARG", "ARG R=r.example V=2\nFROM $R/a:$V", Options{}, []string{"r.example/a:2"}},
		{"digest", "ARG D=sha256:" + hex64 + "\nFROM a:1@${D}", Options{}, []string{"a:1@sha256:" + hex64}},
		{"modifiers", "FROM ${R:-r.example}/a${S:+-s}:${V-1}", Options{}, []string{"r.example/a:1"}},
		{"replacements", "ARG V=1.2.3\nFROM a:${V//./-}", Options{}, []string{"a:1-2-3"}},
		{"patterns", "ARG V=v1.2.3\nFROM a:${V#v}\nFROM b:${V%.*}", Options{}, []string{"b:v1.2"}},
		{"quotes", "ARG V=\"1\"\nFROM \"a:$V\"", Options{}, []string{"a:1"}},
		{"escape directive", "# escape=`\nARG V=1\nFROM `\n a:$V", Options{}, []string{"a:1"}},
		{"target platform", "FROM a:$TARGETOS-$TARGETARCH$TARGETVARIANT", arm, []string{"a:linux-armv7"}},
		{"whole target platform", "ARG P=${TARGETPLATFORM//\\//-}\nFROM a:$P", arm, []string{"a:linux-arm-v7"}},
		{"no variant", "FROM a:x${TARGETVARIANT}", Options{Platform: "linux/arm64"}, []string{"a:x"}},
		{"platform of the builder for the stage", "FROM --platform=$BUILDPLATFORM a\nFROM --platform=${BUILDPLATFORM} b", Options{}, []string{"b"}},
		{"given platform", "FROM a:$BUILDARCH", Options{Args: map[string]string{"BUILDARCH": "s390x"}}, []string{"a:s390x"}},
		{"target stage", "FROM a:$TARGETSTAGE AS x\nFROM b", Options{Target: "x"}, []string{"a:x"}},
		{"what only the builder knows, in a stage that is not needed", "FROM a:$BUILDARCH AS x\nFROM b", Options{}, []string{"b"}},
		{"ARG of a stage does not count for FROM", "ARG V=1\nFROM a:$V\nARG V=2\nFROM b:$V", Options{}, []string{"b:1"}},
		{"onbuild of a stage", "FROM a AS x\nONBUILD COPY --from=b c d\nONBUILD RUN --mount=from=e,target=/e true\nFROM x", Options{}, []string{"a", "b", "e"}},
		{"onbuild that nothing triggers", "FROM a\nONBUILD COPY --from=b c d", Options{}, []string{"a"}},
		{"onbuild two stages away", "FROM a AS x\nONBUILD COPY --from=b c d\nFROM x AS y\nFROM y", Options{}, []string{"a", "b"}},
		{"onbuild with a heredoc", "FROM a AS x\nONBUILD COPY --from=b <<EOF c d\nx\nEOF\nFROM x", Options{}, []string{"a", "b"}},
		{"the builder's own argument", "ARG BUILDKIT_SBOM_SCAN_STAGE=true\nFROM a", Options{}, []string{"a"}},
		{"ports and addresses", "FROM localhost:5000/a\nCOPY --from=[::1]:5000/b c d", Options{}, []string{"localhost:5000/a", "[::1]:5000/b"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, err := parsed(t, "Dockerfile", tc.content).Plan(tc.o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, p.Bases); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTriggers(t *testing.T) {
	t.Parallel()
	p, err := parsed(t, "Dockerfile", "FROM a AS x\nONBUILD COPY --from=b c d\nFROM x AS y\nONBUILD COPY c d\nONBUILD COPY --from=x c d\nONBUILD RUN true").Plan(Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []Source{{Line: 5, Path: "ONBUILD COPY --from=x c d", Reason: "takes files from an image or a stage"}}
	if diff := cmp.Diff(want, p.Triggers); diff != "" {
		t.Error(diff)
	}
}

func TestPlanErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, content string
		o             Options
		want          []string // the lines of the error
	}{
		{"no value", "ARG V\nFROM a:$V", Options{}, []string{"Dockerfile:2: FROM a:$V: the argument V has no value: give it a default in an ARG before the first FROM, or a value in the recipe"}},
		{"no value in braces", "FROM ab${V}c", Options{}, []string{"Dockerfile:1: FROM ab${V}c: the argument V has no value: give it a default in an ARG before the first FROM, or a value in the recipe"}},
		{"not declared", "FROM a:$V", Options{Args: map[string]string{"V": "1"}}, []string{"Dockerfile:1: FROM a:$V: no ARG before the first FROM declares V, so its value does not count"}},
		{"declared in a stage only", "FROM a\nARG V=1\nFROM b:$V", Options{}, []string{"Dockerfile:3: FROM b:$V: the argument V has no value: give it a default in an ARG before the first FROM, or a value in the recipe"}},
		{"nothing", "ARG V=\nFROM $V", Options{}, []string{"Dockerfile:2: FROM $V: expands to nothing"}},
		{"no reference", "ARG V=a/B\nFROM $V", Options{}, []string{`Dockerfile:2: FROM $V: "a/B" is no image reference: invalid reference format: repository name (a/B) must be lowercase`}},
		{"required", "ARG V\nFROM ${V:?none}", Options{}, []string{"Dockerfile:2: FROM ${V:?none}: failed to process \"${V:?none}\": V: none"}},
		{"required default", "ARG V=${W:?}\nFROM a", Options{}, []string{"Dockerfile:1: ARG V: failed to process \"${W:?}\": W: is not allowed to be unset"}},
		{"of the builder", "ARG A=x-$BUILDARCH\nFROM a:$A", Options{}, []string{"Dockerfile:2: FROM a:$A: uses BUILDARCH, which depends on the machine that builds"}},
		{"of the platform", "FROM a:$TARGETARCH", Options{}, []string{"Dockerfile:1: FROM a:$TARGETARCH: uses TARGETARCH, which depends on the platform, and none is given"}},
		{"platform without value", "FROM --platform=$P a", Options{}, []string{"Dockerfile:1: FROM a: --platform=$P the argument P has no value: give it a default in an ARG before the first FROM, or a value in the recipe"}},
		{"several", "FROM a:$V AS x\nRUN --mount=from=:,target=/x true\nFROM x\nCOPY --from=9 b c\nCOPY https://example.org/x y", Options{}, []string{
			"Dockerfile:1: FROM a:$V: the argument V has no value: give it a default in an ARG before the first FROM, or a value in the recipe",
			`Dockerfile:2: RUN from=: is no image reference: invalid reference format`,
			"Dockerfile:4: COPY --from=9: there are only stages 0 to 1",
			"Dockerfile:5: COPY: https://example.org/x lies elsewhere: only ADD can fetch it",
		}},
		{"upper case", "FROM a AS one\nFROM One", Options{}, []string{"Dockerfile:2: FROM One: is an image for BuildKit: write the stage's name as one"}},
		{"itself", "FROM a\nFROM b AS x\nCOPY --from=x c d", Options{}, []string{"Dockerfile:3: COPY takes files from a stage that is built from its own"}},
		{"in a circle", "FROM a AS x\nCOPY --from=y c d\nFROM b AS y\nRUN --mount=from=x,target=/x true\nFROM c", Options{}, []string{"Dockerfile:4: RUN takes files from a stage that is built from its own"}},
		{"later", "FROM a AS x\nCOPY --from=y c d\nFROM b AS y", Options{Target: "x"}, []string{"Dockerfile:2: COPY takes files from a stage that is defined only in line 3"}},
		{"in a stage that is not needed", "FROM a\nCOPY --from=$V b c\nFROM b", Options{}, []string{"Dockerfile:2: COPY --from=$V: arguments are not expanded here: name a stage with FROM, where they are"}},
		{"onbuild", "FROM a AS x\nONBUILD COPY b\nFROM x", Options{}, []string{"Dockerfile:2: ONBUILD: COPY requires at least two arguments, but only one was provided. Destination could not be determined"}},
		{"environment", "FROM scratch\nENV A=${B:?none}", Options{}, []string{"Dockerfile:2: ENV: failed to process \"${B:?none}\": B: none"}},
		{"mount", "FROM a\nRUN --mount=type=bnd,target=/x true", Options{}, []string{"Dockerfile:2: RUN: --mount: unsupported mount type \"bnd\" (did you mean bind?)"}},
		{"exclude", "FROM a\nCOPY --exclude=[ . /", Options{}, []string{"Dockerfile:2: COPY: --exclude: syntax error in pattern"}},
		{"parents", "FROM a\nCOPY --parents a/[ /", Options{}, []string{"Dockerfile:2: COPY: a/[: syntax error in pattern"}},
		{"frontend", "FROM a", Options{Args: map[string]string{"BUILDKIT_SYNTAX": " "}}, []string{`Dockerfile: the build argument BUILDKIT_SYNTAX names "", which is empty`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, err := parsed(t, "Dockerfile", tc.content).Plan(tc.o)
			var parse *ParseError
			if p != nil || !errors.As(err, &parse) {
				t.Fatalf("%v, %v", p, err)
			}
			if diff := cmp.Diff(tc.want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUnknownTarget(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"FROM a AS one\nFROM b\nFROM c AS Two\nFROM d AS two": `Dockerfile: has no stage "0"; its stages are one, two`,
		"FROM a": `Dockerfile: has no stage "0": no stage has a name`,
	} {
		_, err := parsed(t, "Dockerfile", content).Plan(Options{Target: "0"})
		var unknown *TargetError
		if !errors.As(err, &unknown) || err.Error() != want {
			t.Errorf("%v", err)
		}
	}
}

func TestPlanFrontend(t *testing.T) {
	t.Parallel()
	f := parsed(t, "Dockerfile", "# syntax=docker/dockerfile:1\nFROM a")
	for syntax, want := range map[string]string{"other/frontend:2 x": "other/frontend:2", "": "docker/dockerfile:1"} {
		o := Options{}
		if syntax != "" {
			o.Args = map[string]string{"BUILDKIT_SYNTAX": syntax}
		}
		p, err := f.Plan(o)
		if err != nil || p.Frontend != want || f.Frontend != "docker/dockerfile:1" {
			t.Errorf("%q: %+v, %v", syntax, p, err)
		}
	}
}

// The Dockerfiles of testdata are of the kinds that are in use.
func TestSamples(t *testing.T) {
	t.Parallel()
	const pinned = "alpine:3.22@sha256:4bcff63911fcb4448bd4fdacec207030997caf25e9bea4045fa6c8c44de311d1"
	for _, tc := range []struct {
		name     string
		o        Options
		frontend string
		bases    []string
		remote   []Source
	}{
		{
			name:     "go.Dockerfile",
			o:        Options{Platform: "linux/arm64"},
			frontend: "docker/dockerfile:1.9@sha256:fe40cf4e92cd0c467be2cfc30657a680ae2398318afd50b0c80585784c604f28",
			bases:    []string{"docker.io/library/golang:1.26-alpine", pinned, "ghcr.io/grpc-ecosystem/grpc-health-probe:v0.4.38"},
		},
		{
			name:     "go.Dockerfile",
			o:        Options{Target: "test", Args: map[string]string{"GO_VERSION": "1.27", "REGISTRY": "mirror.example"}},
			frontend: "docker/dockerfile:1.9@sha256:fe40cf4e92cd0c467be2cfc30657a680ae2398318afd50b0c80585784c604f28",
			bases:    []string{"mirror.example/golang:1.27-alpine", "postgres:17"},
		},
		{
			name:     "node.Dockerfile",
			frontend: "docker/dockerfile:1",
			bases:    []string{"node:22-slim", "nginx:1.29-alpine"},
			remote: []Source{
				{Line: 13, Path: "https://example.org/latest.json", Reason: "is fetched, and no checksum says what it must be"},
				{Line: 14, Path: "https://github.com/example/icons.git#v1.2", Reason: "is fetched, and no checksum says what it must be"},
			},
		},
		{name: "python.Dockerfile", bases: []string{"python:3.14-slim"}},
	} {
		p, err := sample(t, tc.name).Plan(tc.o)
		if err != nil {
			t.Error(err)
			continue
		}
		if p.Frontend != tc.frontend {
			t.Errorf("%s: frontend %q", tc.name, p.Frontend)
		}
		if diff := cmp.Diff(tc.bases, p.Bases); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
		if diff := cmp.Diff(tc.remote, p.Remote); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}

func TestPlanFrom(t *testing.T) {
	t.Parallel()
	const content = `ARG MADE=linux/386
FROM --platform=$BUILDPLATFORM a AS build
FROM --platform=$MADE b AS made
FROM scratch AS empty
FROM c AS other
FROM --platform=$TARGETPLATFORM d
COPY --from=build /x /
COPY --from=made /x /
COPY --from=e /x /
`
	p := planned(t, content, Options{Platform: "linux/arm/v7"})
	want := []From{{Line: 2, Image: "a"}, {Line: 3, Image: "b", Platform: "linux/386"}, {Line: 6, Image: "d", Platform: "linux/arm/v7"}}
	if d := cmp.Diff(want, p.From); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
