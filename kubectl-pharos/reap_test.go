package main

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/sweep"
)

// Who is asked is told that with a namespace goes what is in it.
func TestReapAsksAboutNamespaces(t *testing.T) {
	t.Parallel()
	report := sweep.Report{Counts: sweep.Counts{WouldDelete: 5}, Resources: []sweep.ResourceCounts{
		{Resource: "configmaps", Counts: sweep.Counts{WouldDelete: 3}}, {Resource: "namespaces", Counts: sweep.Counts{WouldDelete: 2}}, {Resource: "pods"},
	}}
	var out bytes.Buffer
	if err := ask(t.Context(), strings.NewReader("n\n"), &out, report); err == nil {
		t.Error("no was taken for yes")
	}
	if want := "  configmaps: 3\n  namespaces: 2, each with all that is in it\nDelete these 5 objects? [y/N] "; out.String() != want {
		t.Errorf("it asks %q, want %q", &out, want)
	}
}

// The page and the help name what is looked at, and the flags and reasons that there are.
func TestReapPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/end-things.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Reap once\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, list, _ := strings.Cut(section, "By default it looks at ")
	list, _, _ = strings.Cut(list, ". `--only`")
	var named []string
	for _, m := range regexp.MustCompile("`([a-z0-9.]+)`").FindAllStringSubmatch(list, -1) {
		named = append(named, m[1])
	}
	slices.Sort(named)
	if want := slices.Sorted(slices.Values(sweep.DefaultResources())); !slices.Equal(named, want) {
		t.Errorf("the page names %q, want %q", named, want)
	}
	var out bytes.Buffer
	root := newRoot(genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &out})
	cmd, _, err := root.Find([]string{"reap"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sweep.DefaultResources() {
		if !strings.Contains(cmd.Long, name) {
			t.Errorf("the help does not name %s", name)
		}
	}
	for _, m := range regexp.MustCompile(`--([a-z][a-z-]+)`).FindAllStringSubmatch(section, -1) {
		if cmd.Flags().Lookup(m[1]) == nil {
			t.Errorf("the page has --%s, which there is not", m[1])
		}
	}
	for _, r := range []reaper.Reason{reaper.BadIntent, reaper.NoEnd, reaper.ProtectedName, reaper.KeptBy, reaper.DeclaredBy, reaper.Holds, sweep.Stuck, sweep.Failed} {
		if !strings.Contains(section, "`"+string(r)+"`") {
			t.Errorf("the page does not explain %s", r)
		}
	}
}
