package main

import (
	"bytes"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
)

// TestLock runs the scripts that have a registry REGISTRY to themselves, with a
// fault proxy in front of it.
func TestLock(t *testing.T) {
	t.Parallel()
	scripts := maps.Clone(commands)
	maps.Copy(scripts, map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"move": move, "fail": fail, "mend": mend, "password": password,
	})
	testscript.Run(t, testscript.Params{Dir: "testdata/lock", Setup: setupRegistry, Cmds: scripts, RequireUniqueNames: true, RequireExplicitExec: true, UpdateScripts: update})
}

func setupRegistry(e *testscript.Env) error {
	if err := setup(e); err != nil {
		return err
	}
	proxy := startRegistry(e.T().(testing.TB))
	e.Values[registryProxy{}] = proxy
	e.Values[lockFaults{}] = &[]*faultproxy.Fault{}
	e.Setenv("REGISTRY", proxy.Host())
	return nil
}

func startRegistry(t testing.TB) *faultproxy.Proxy {
	t.Helper()
	proxy, err := faultproxy.Start("http://"+devtest.Registry(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	return proxy
}

// registryProxy is the key of a script's fault proxy, lockFaults of its faults.
type (
	registryProxy struct{}
	lockFaults    struct{}
)

// move REFERENCE NAME PLATFORM… has a tag lead to the image of that name, whose
// digest is then the variable NAME.
func move(ts *testscript.TestScript, _ bool, args []string) {
	index, err := namedIndex(args[1], args[2:]...)
	ts.Check(err)
	ref, err := name.NewTag(args[0])
	ts.Check(err)
	ts.Check(remote.WriteIndex(ref, index))
	digest, err := index.Digest()
	ts.Check(err)
	ts.Setenv(args[1], digest.String())
}

// namedIndex has the same bytes for the same name.
func namedIndex(name string, platforms ...string) (v1.ImageIndex, error) {
	index := v1.ImageIndex(empty.Index)
	for _, platform := range platforms {
		p, err := v1.ParsePlatform(platform)
		if err != nil {
			return nil, err
		}
		img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: p.OS, Architecture: p.Architecture, Author: name})
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: p}})
	}
	return index, nil
}

// fail CODE|stall PATH [TIMES] has requests for the path fail, or never end.
func fail(ts *testscript.TestScript, _ bool, args []string) {
	rule := faultproxy.Rule{Path: regexp.MustCompile(args[1]), Do: faultproxy.Stall()}
	if args[0] != "stall" {
		code, err := strconv.Atoi(args[0])
		ts.Check(err)
		rule.Do = faultproxy.Answer(code)
	}
	if len(args) > 2 {
		times, err := strconv.Atoi(args[2])
		ts.Check(err)
		rule.Times = times
	}
	addFault(ts, rule)
}

// password WORD has the registry want a password.
func password(ts *testscript.TestScript, _ bool, args []string) {
	addFault(ts, faultproxy.Rule{
		Match: func(r *http.Request) bool {
			_, given, _ := r.BasicAuth()
			return given != args[0]
		},
		Do: func(_ *faultproxy.Fault, w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("WWW-Authenticate", `Basic realm="tests"`)
			w.WriteHeader(http.StatusUnauthorized)
			return false
		},
	})
}

func addFault(ts *testscript.TestScript, rule faultproxy.Rule) {
	faults := ts.Value(lockFaults{}).(*[]*faultproxy.Fault)
	fault := ts.Value(registryProxy{}).(*faultproxy.Proxy).Add(rule)
	*faults = append(*faults, fault)
}

// mend ends all faults.
func mend(ts *testscript.TestScript, _ bool, _ []string) {
	faults := ts.Value(lockFaults{}).(*[]*faultproxy.Fault)
	for _, fault := range *faults {
		fault.Remove()
	}
}

// TestLockKilled kills lock while it waits for one of two answers.
func TestLockKilled(t *testing.T) {
	t.Parallel()
	proxy := startRegistry(t)
	host, dir := proxy.Host(), t.TempDir()
	for _, repo := range []string{"fine", "slow"} {
		index, err := namedIndex(repo, "linux/amd64")
		if err != nil {
			t.Fatal(err)
		}
		ref, err := name.NewTag(host + "/" + repo + ":1")
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.WriteIndex(ref, index); err != nil {
			t.Fatal(err)
		}
	}
	before := "apiVersion: pharos.dev/v1alpha1\nkind: Lock\nimages:\n  " + host + "/gone:1: sha256:" + strings.Repeat("0", 64) + "\n"
	for path, content := range map[string]string{
		"pharos.lock": before,
		"pharos.yaml": "apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\nimages:\n" +
			"- {name: a, build: {go: {package: ./a, base: \"" + host + "/fine:1\"}}, inputs: [a]}\n" +
			"- {name: b, build: {go: {package: ./b, base: \"" + host + "/slow:1\"}}, inputs: [b]}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	stalled := proxy.Add(faultproxy.Rule{Method: http.MethodHead, Path: regexp.MustCompile("/slow/"), Do: faultproxy.Stall()})
	args := []string{"lock", "--insecure-registry", host}
	var output bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-stalled.Reached():
	case err := <-ended:
		t.Fatalf("it ended before it was killed: %v\n%s", err, output.String())
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
	if got, err := os.ReadFile(filepath.Join(dir, "pharos.lock")); err != nil || string(got) != before {
		t.Errorf("the lock is %q, error %v", got, err)
	}
	// As if it had been killed in the middle of the write.
	left := filepath.Join(dir, ".pharos.lock.tmp-1")
	if err := os.WriteFile(left, []byte("apiVers"), 0o644); err != nil {
		t.Fatal(err)
	}
	stalled.Remove()
	again := exec.Command(program, args...)
	again.Dir = dir
	if out, err := again.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := os.ReadFile(filepath.Join(dir, "pharos.lock"))
	if err != nil || strings.Count(string(got), "sha256:") != 2 || strings.Contains(string(got), "/gone:1") {
		t.Errorf("the lock is %s, error %v", got, err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("what was left is still there: %v", err)
	}
}
