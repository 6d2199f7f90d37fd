package catalogue

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// described returns an explanation as the command prints it.
func described(reasons []Reason, indent string) []string {
	var lines []string
	for _, r := range reasons {
		lines = append(lines, indent+r.String())
		lines = append(lines, described(r.Reasons, indent+"  ")...)
	}
	return lines
}

// stateWith is the state of an image that a receipt holds: "key=value" lines.
func stateWith(t testing.TB, name string, lines ...string) State {
	t.Helper()
	s := State{Image: Image{Name: name}}
	for _, line := range lines {
		key, value, _ := strings.Cut(line, "=")
		s.Preimage = append(s.Preimage, Field{key, value})
	}
	sortFields(s.Preimage)
	var err error
	if s.Fingerprint, err = ComputeFingerprint(s.Preimage); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestExplainBasesOfDockerfiles(t *testing.T) {
	t.Parallel()
	d := func(digit string) string { return "sha256:" + strings.Repeat(digit, 64) }
	side := func(lines ...string) Side {
		s := stateWith(t, "web", append(lines, "builder=dockerfile", "dockerfile.path=web/Dockerfile")...)
		s.Bases = []string{"alpine:3@" + d("1"), "golang:1@" + d("2"), "nginx:1@" + d("4"), "alpine:3@" + d("5"), "registry.example:5000/base@" + d("6")}
		s.Frontend = "docker/dockerfile:1@" + d("3")
		return Side{States: []State{s}}
	}
	for name, c := range map[string]struct{ old, new, want []string }{
		"one moved": {
			[]string{"dockerfile.base.0000=" + d("1"), "dockerfile.base.0001=" + d("2")},
			[]string{"dockerfile.base.0000=" + d("5"), "dockerfile.base.0001=" + d("2")},
			[]string{"base of web/Dockerfile: alpine:3@" + d("1") + " → alpine:3@" + d("5")},
		},
		"one more, before the others": {
			[]string{"dockerfile.base.0000=" + d("1")},
			[]string{"dockerfile.base.0000=" + d("2"), "dockerfile.base.0001=" + d("1")},
			[]string{"base of web/Dockerfile: none → golang:1@" + d("2")},
		},
		"another one, and one that moved": {
			[]string{"dockerfile.base.0000=" + d("2"), "dockerfile.base.0001=" + d("1")},
			[]string{"dockerfile.base.0000=" + d("5"), "dockerfile.base.0001=" + d("4")},
			[]string{"base of web/Dockerfile: alpine:3@" + d("1") + " → alpine:3@" + d("5"), "base of web/Dockerfile: golang:1@" + d("2") + " → nginx:1@" + d("4")},
		},
		"order": {
			[]string{"dockerfile.base.0000=" + d("1"), "dockerfile.base.0001=" + d("2")},
			[]string{"dockerfile.base.0000=" + d("2"), "dockerfile.base.0001=" + d("1")},
			[]string{"base of web/Dockerfile: [" + d("1") + ", " + d("2") + "] → [" + d("2") + ", " + d("1") + "]"},
		},
		"now by platform": {
			[]string{"dockerfile.base.0000=" + d("1")},
			[]string{"dockerfile.base.linux/amd64.0000=" + d("1"), "dockerfile.base.linux/arm64.0000=" + d("6")},
			[]string{"base of web/Dockerfile: none → registry.example:5000/base@" + d("6")},
		},
		"a digest that nobody knows by name": {
			[]string{"dockerfile.base.0000=" + d("8")},
			[]string{"dockerfile.base.0000=" + d("9")},
			[]string{"base of web/Dockerfile: " + d("8") + " → " + d("9")},
		},
		"frontend": {
			nil, []string{"dockerfile.frontend=" + d("3")},
			[]string{"frontend of web/Dockerfile: none → docker/dockerfile:1@" + d("3")},
		},
		"target and argument": {
			[]string{"dockerfile.target=", "dockerfile.args.0000=a", "dockerfile.secrets.0000=npm"},
			[]string{"dockerfile.target=prod", "dockerfile.args.0000=b", "dockerfile.secrets.0000=npm", "dockerfile.secrets.0001=pip"},
			[]string{"build.dockerfile.args.0000: a → b", "build.dockerfile.secrets: [npm] → [npm, pip]", `build.dockerfile.target: "" → prod`},
		},
		"a place among the bases": {
			[]string{"dockerfile.image.0000=" + d("7"), "dockerfile.base.0001=" + d("1")},
			[]string{"dockerfile.image.0001=" + d("7"), "dockerfile.base.0000=" + d("1")},
			[]string{"base of web/Dockerfile: [" + d("1") + "] → [" + d("1") + "]", "what it is built on: [" + d("7") + "] → [" + d("7") + "]"},
		},
	} {
		x := explained(t, "web", side(c.old...), side(c.new...))
		if diff := cmp.Diff(c.want, described(x.Reasons, "")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Two references may stand for one image, until one of them moves.
func TestExplainBasesThatAreTheSameImage(t *testing.T) {
	t.Parallel()
	d := func(digit string) string { return "sha256:" + strings.Repeat(digit, 64) }
	side := func(b, frontend string) Side {
		s := stateWith(t, "web", "builder=dockerfile", "dockerfile.path=Dockerfile", "dockerfile.frontend="+frontend,
			"dockerfile.base.0000="+b, "dockerfile.base.0001="+d("1"))
		s.Bases, s.Frontend = []string{"a:1@" + d("1"), "b:1@" + b}, "c:1@"+frontend
		return Side{States: []State{s}}
	}
	for name, c := range map[string]struct {
		old, new Side
		want     string
	}{
		"a base":       {side(d("1"), d("3")), side(d("2"), d("3")), "base of Dockerfile: b:1@" + d("1") + " → b:1@" + d("2")},
		"a base back":  {side(d("2"), d("3")), side(d("1"), d("3")), "base of Dockerfile: b:1@" + d("2") + " → b:1@" + d("1")},
		"the frontend": {side(d("1"), d("1")), side(d("1"), d("4")), "frontend of Dockerfile: c:1@" + d("1") + " → c:1@" + d("4")},
	} {
		x := explained(t, "web", c.old, c.new)
		if diff := cmp.Diff([]string{c.want}, described(x.Reasons, "")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// An image on another one changes with it, for the other one's reasons.
func TestExplainDependencies(t *testing.T) {
	t.Parallel()
	on := func(name, base string) Image {
		i := goImage(t)
		i.Name, i.Inputs, i.Build.Go = name, mustPatterns(t, "services/api", "go.mod"), &GoBuild{Package: "./services/api", Base: base}
		return i
	}
	low := on("low", Scratch)
	low.Inputs = mustPatterns(t, "services/api", "libs", "go.mod")
	files := goFiles()
	old := sideOf(t, files, on("top", "middle"), on("middle", "low"), low, on("other", Scratch))
	files[4].content = "x"
	new := sideOf(t, files, on("top", "middle"), on("middle", "low"), low, on("other", Scratch))
	want := []string{"it is built on middle, which changed", "  it is built on low, which changed", "    libs/lib.go was modified"}
	x := explained(t, "top", old, new)
	if diff := cmp.Diff(want, described(x.Reasons, "")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r := x.Reasons[0]; r.Image != "middle" || r.Field != "build.go.base" || r.Old.Text != string(old.States[1].Fingerprint) || r.New.Text != string(new.States[1].Fingerprint) {
		t.Errorf("got %+v", r)
	}
	moved := sideOf(t, goFiles(), on("top", "other"), on("middle", "low"), low, on("other", Scratch))
	want = []string{"it is no longer built on middle", "it is built on other now"}
	if diff := cmp.Diff(want, described(explained(t, "top", old, moved).Reasons, "")); diff != "" {
		t.Errorf("another one (-want +got):\n%s", diff)
	}
	bare := sideOf(t, goFiles(), on("top", Scratch))
	want = []string{"base, build.go.base: none → scratch", "it is no longer built on middle"}
	if diff := cmp.Diff(want, described(explained(t, "top", old, bare).Reasons, "")); diff != "" {
		t.Errorf("none (-want +got):\n%s", diff)
	}
}

// Each dependency's reasons are given once, however many ways lead to it; and
// records that nobody could have made do not lead in circles.
func TestExplainDependenciesOnce(t *testing.T) {
	t.Parallel()
	layers := func(seed string) Side {
		var s Side
		below := []State{stateWith(t, "a0", "dockerfile.path=x", "tree="+seed), stateWith(t, "b0", "dockerfile.path=y", "tree="+seed)}
		s.States = below
		for n := 1; n < 40; n++ {
			var layer []State
			for _, name := range []string{"a", "b"} {
				layer = append(layer, stateWith(t, fmt.Sprint(name, n), "dockerfile.path="+name,
					"dockerfile.image.0000="+string(below[0].Fingerprint), "dockerfile.image.0001="+string(below[1].Fingerprint)))
			}
			s.States = append(s.States, layer...)
			below = layer
		}
		return s
	}
	x := explained(t, "a39", layers("1"), layers("2"))
	if n := len(described(x.Reasons, "")); n < 80 || n > 200 {
		t.Errorf("%d lines", n)
	}
	circle := func(seed string) Side {
		a := State{Image: Image{Name: "a"}, Fingerprint: Fingerprint(seed + "a"), Preimage: []Field{{"dockerfile.image.0000", seed + "b"}}}
		b := State{Image: Image{Name: "b"}, Fingerprint: Fingerprint(seed + "b"), Preimage: []Field{{"dockerfile.image.0000", seed + "a"}}}
		return Side{States: []State{a, b}}
	}
	want := []string{"it is built on b, which changed", "  it is built on a, which changed"}
	if diff := cmp.Diff(want, described(explained(t, "a", circle("1"), circle("2")).Reasons, "")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
