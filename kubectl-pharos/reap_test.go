package main

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
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

// A name with ends of lines, as a Role's may have, looks like no other object.
func TestNamesOfSeveralLines(t *testing.T) {
	t.Parallel()
	cluster := devtest.Cluster(t)
	ns, kubeconfig := devtest.Namespace(t, cluster), devtest.Kubeconfig(t, cluster.Config())
	_, err := devtest.Client(t, cluster.Config()).RbacV1().Roles(ns).Create(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{
		Name: "a\nnamespaces\\prod", Labels: map[string]string{keys.Intent: "transient"}, Annotations: map[string]string{keys.ExpiresAt: "2020-01-02T03:04:05Z"},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	reap := []string{"reap", "-n", ns, "--only", "roles.rbac.authorization.k8s.io"}
	for _, args := range [][]string{
		append(slices.Clone(reap), "--dry-run"), append(slices.Clone(reap), "--dry-run", "-o", "name"),
		{"inventory", "-n", ns}, {"inventory", "-n", ns, "-o", "name"},
	} {
		if _, out, errOut := plugin(t, kubeconfig, args...); !strings.Contains(out, `a\nnamespaces\prod`) || strings.Contains(out, "\nnamespaces") {
			t.Errorf("%q:\n%s%s", args, out, errOut)
		}
	}
}

// TestIndented keeps the help's list of resources within 80 characters.
func TestIndented(t *testing.T) {
	t.Parallel()
	text := indented(sweep.DefaultResources())
	if got := strings.Join(strings.Fields(text), " "); got != strings.Join(sweep.DefaultResources(), ", ") {
		t.Errorf("it says %q", got)
	}
	for line := range strings.Lines(text) {
		if len(line) > 80 {
			t.Errorf("%d characters in %q", len(line), line)
		}
	}
}
