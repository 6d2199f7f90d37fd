package argo_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/argo"
)

func mark() argo.Mark {
	return argo.Mark{Namespace: "pharos", Target: "devbox", Token: 7, Holder: "ABC", End: time.Date(2026, 11, 30, 12, 0, 5, 0, time.UTC)}
}

func TestMark(t *testing.T) {
	t.Parallel()
	ended, odd := mark(), mark()
	ended.Ended, ended.First = true, true
	odd.Holder = "a/b *{x}"
	for want, m := range map[string]argo.Mark{
		"pharos.dev/lease=pharos/devbox/7/ABC/2026-11-30T12:00:05Z":                mark(),
		"pharos.dev/lease-ended=pharos/devbox/7/ABC/2026-11-30T12:00:05Z/first":    ended,
		"pharos.dev/lease=pharos/devbox/7/a%2Fb%20%2A%7Bx%7D/2026-11-30T12:00:05Z": odd,
	} {
		if m.String() != want {
			t.Errorf("got %s, want %s", m, want)
		}
		if got, err := argo.ParseMark(want); err != nil || got != m {
			t.Errorf("%s: got %+v, %v", want, got, err)
		}
	}
}

// There is one way to write a mark, and everything else is none.
func TestMarksThatAreNone(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "api", "pharos.dev/lease", "pharos.dev/lease=", "pharos.dev/lease=pharos/devbox/7/ABC",
		"pharos.dev/lease=Pharos/devbox/7/ABC/2026-11-30T12:00:05Z",
		"pharos.dev/lease=pharos/dev*/7/ABC/2026-11-30T12:00:05Z",
		"pharos.dev/lease=pharos/devbox/07/ABC/2026-11-30T12:00:05Z",
		"pharos.dev/lease=pharos/devbox/-7/ABC/2026-11-30T12:00:05Z",
		"pharos.dev/lease=pharos/devbox/0/ABC/2026-11-30T12:00:05Z",
		"pharos.dev/lease=pharos/devbox/9223372036854775808/ABC/2026-11-30T12:00:05Z",
		"pharos.dev/lease=pharos/devbox/7//2026-11-30T12:00:05Z",
		"pharos.dev/lease=pharos/devbox/7/A*C/2026-11-30T12:00:05Z",
		"pharos.dev/lease=pharos/devbox/7/%41BC/2026-11-30T12:00:05Z",
		"pharos.dev/lease=pharos/devbox/7/ABC%/2026-11-30T12:00:05Z",
		"pharos.dev/lease=pharos/devbox/7/ABC/2026-11-30T12:00:05+00:00",
		"pharos.dev/lease=pharos/devbox/7/ABC/2026-11-30T12:00:05.5Z",
		"pharos.dev/lease=pharos/devbox/7/ABC/2026-13-30T12:00:05Z",
		"pharos.dev/lease=pharos/devbox/7/ABC/2026-11-30T12:00:05Z/last",
		"pharos.dev/lease=pharos/devbox/7/ABC/2026-11-30T12:00:05Z/first/first",
		"pharos.dev/lease-gone=pharos/devbox/7/ABC/2026-11-30T12:00:05Z",
	} {
		if m, err := argo.ParseMark(s); err == nil {
			t.Errorf("%q is taken for %+v", s, m)
		}
	}
	w := argo.Window{Applications: []string{"api", mark().String(), "web"}}
	if m, err := w.Mark(); err != nil || m == nil || *m != mark() {
		t.Errorf("got %+v, %v", m, err)
	}
	if names := strings.Join(w.Names(), " "); names != "api web" {
		t.Errorf("its names are %s", names)
	}
	w.Applications = append(w.Applications, mark().String())
	if m, err := w.Mark(); err == nil {
		t.Errorf("with two marks it has %+v", m)
	}
	w.Applications = []string{"pharos.dev/lease=what"}
	if m, err := w.Mark(); err == nil {
		t.Errorf("with a mark that is none it has %+v", m)
	}
	w.Applications = []string{"api"}
	if m, err := w.Mark(); err != nil || m != nil {
		t.Errorf("without a mark it has %+v, %v", m, err)
	}
}

// What is read is written the same, and stands for no Application.
func FuzzMark(f *testing.F) {
	ended := mark()
	ended.Ended, ended.First, ended.Holder = true, true, "a b/c"
	for _, s := range []string{mark().String(), ended.String(), "pharos.dev/lease=////", "api"} {
		f.Add(s, "api")
	}
	f.Fuzz(func(t *testing.T, s, name string) {
		m, err := argo.ParseMark(s)
		if err != nil {
			return
		}
		if m.String() != s {
			t.Errorf("%q is written %q", s, m)
		}
		if strings.ContainsAny(s, `*?[]{}!\,`) {
			t.Errorf("%q has a character that means something in a glob", s)
		}
		a := with(t)
		a.Metadata.Name = name
		w := argo.Window{Kind: "deny", Schedule: "0 11 * * *", Duration: "2h", Applications: []string{s}}
		if argo.Blocking([]argo.Window{w}, a, monday) != nil && name != s {
			t.Errorf("%q closes %q", s, name)
		}
	})
}
