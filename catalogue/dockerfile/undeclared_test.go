package dockerfile

import (
	"slices"
	"strings"
	"testing"
)

func TestUndeclared(t *testing.T) {
	t.Parallel()
	f, err := Parse("Dockerfile", []byte("ARG A\nFROM scratch AS s\nARG B=1 C\nONBUILD ARG D=2 E\nFROM s\nENV F=$F\n"))
	if err != nil {
		t.Fatal(err)
	}
	args := map[string]string{}
	for _, name := range []string{
		"A", "B", "C", "D", "E", "F", "a", "Z", "http_proxy", "NO_PROXY", "TARGETARCH", "BUILDPLATFORM", "TARGETSTAGE",
		"BUILDKIT_INLINE_CACHE", "SOURCE_DATE_EPOCH", "TARGETARCHX", "MY_PROXY",
	} {
		args[name] = "x"
	}
	if got, want := f.Undeclared(args), []string{"F", "MY_PROXY", "TARGETARCHX", "Z", "a"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for frontend, want := range map[string]int{"docker/dockerfile:1": 1, "docker.io/docker/dockerfile-upstream:master": 1, "example.com/other": 0} {
		f, err := Parse("Dockerfile", []byte("# syntax="+frontend+"\nFROM scratch\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Undeclared(map[string]string{"A": ""}); len(got) != want {
			t.Errorf("with the frontend %s: %q", frontend, got)
		}
	}
	if got := f.Undeclared(nil); len(got) > 0 {
		t.Errorf("got %q of none", got)
	}
}

// A default before the first FROM holds for all stages that declare the argument,
// one within a stage for that alone.
func TestUnset(t *testing.T) {
	t.Parallel()
	f, err := Parse("Dockerfile", []byte("ARG BASE\nARG MODE=dev\nFROM scratch AS a\nARG MODE VERSION HTTP_PROXY TARGETARCH\nARG LEVEL=1\nFROM scratch\nARG LEVEL VERSION\nCOPY a /\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(f.Unset(), " "); got != "BASE VERSION LEVEL" {
		t.Errorf("got %s", got)
	}
}
