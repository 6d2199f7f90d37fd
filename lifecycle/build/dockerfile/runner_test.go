package dockerfile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
)

// runner makes the fixture's builder one that publishes from here.
func (f *fixture) runner(temp string) {
	f.t.Helper()
	backend, err := dockerfile.NewRunner(dockerfile.RunnerConfig{
		AddressConfig: dockerfile.AddressConfig{Address: f.address}, Registry: f.registry, TempDir: temp,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.use(backend)
}

// A BuildKit without any network builds on images of the target's registry, and
// what it builds comes to be there: the same bytes that an address would push.
func TestRunner(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	base := f.host + "/base:1"
	digest := f.busybox(base)
	p := project{
		files: map[string]string{"Dockerfile": "FROM base\nFROM " + base + "\nCOPY a /\nCOPY --from=base /which /which\nRUN echo ran >/ran\n", "a": "a", "base/Dockerfile": "FROM scratch\n"},
		more:  "- name: base\n  build: {dockerfile: {path: base/Dockerfile}}\n  inputs: [base]\n",
		lock:  map[string]string{base: digest},
	}
	r := f.request(p)
	r.Images = map[string]string{"base": f.host + "/dev/base@" + f.push(f.host+"/dev/base:x", map[string]string{"which": "ours"})}
	byAddress := f.build(r)

	other := fixtureOn(t, devtest.OwnBuildKit(t, devenv.BuildKitOptions{NoNetwork: true}))
	other.busybox(other.host + "/base:1")
	other.push(other.host+"/dev/base:x", map[string]string{"which": "ours"})
	temp := t.TempDir()
	other.runner(temp)
	p.files["Dockerfile"] = strings.ReplaceAll(p.files["Dockerfile"], f.host, other.host)
	p.lock = map[string]string{other.host + "/base:1": digest}
	q := other.request(p)
	q.Images = map[string]string{"base": strings.ReplaceAll(r.Images["base"], f.host, other.host)}
	res := other.build(q)
	got := other.content(res)
	if got["a"] != "a" || got["which"] != "ours" || got["ran"] != "ran\n" {
		t.Errorf("the image holds %q", got)
	}
	if res.Size != byAddress.Size || res.Toolchain != byAddress.Toolchain {
		t.Errorf("got %+v, and by an address %+v", res, byAddress)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// Stages of the machine that builds, or of a platform by name, need images that are
// for neither of the result's, and a base need not be for the result's at all.
func TestRunnerCrossCompiles(t *testing.T) {
	t.Parallel()
	f := fixtureOn(t, devtest.OwnBuildKit(t, devenv.BuildKitOptions{NoNetwork: true}))
	f.runner(t.TempDir())
	tools, base := f.host+"/tools:1", f.host+"/base:1"
	busybox := f.busybox(tools) // for this machine alone
	digest := f.pushPlatforms(base, map[string]v1.Image{
		"linux/arm64": f.imageFor("arm64"), "linux/s390x": f.imageFor("s390x"), "linux/386": f.imageFor("386"),
	})
	res := f.build(f.request(project{
		platforms: "[linux/arm64]",
		files: map[string]string{"Dockerfile": "FROM --platform=$BUILDPLATFORM " + tools + " AS build\nRUN echo built >/built\n" +
			"FROM --platform=linux/s390x " + base + " AS named\n" +
			"FROM " + base + "\nCOPY --from=build /built /built\nCOPY --from=named /which /named\n"},
		lock: map[string]string{tools: busybox, base: digest},
	}))
	got := contentOf(t, f.image(res, "linux/arm64"))
	if d := cmp.Diff(map[string]string{"which": "arm64", "built": "built\n", "named": "s390x"}, got); d != "" {
		t.Errorf("the image's files (-want +got)\n%s", d)
	}
}

// A base may stand in the Dockerfile with its digest, and a runner still gets it
// from here.
func TestRunnerOfBasesByDigest(t *testing.T) {
	t.Parallel()
	f := fixtureOn(t, devtest.OwnBuildKit(t, devenv.BuildKitOptions{NoNetwork: true}))
	f.runner(t.TempDir())
	base := f.host + "/base"
	one := f.push(base+":1", map[string]string{"which": "one"})
	two := f.push(base+":2", map[string]string{"which": "two"})
	got := f.content(f.build(f.request(project{files: map[string]string{
		"Dockerfile": "FROM " + base + "@" + one + "\nCOPY --from=" + base + ":2@" + two + " /which /other\n",
	}})))
	if d := cmp.Diff(map[string]string{"which": "one", "other": "two"}, got); d != "" {
		t.Errorf("the image's files (-want +got)\n%s", d)
	}
}

// What a BuildKit pushes, and what comes of the same BuildKit as a layout, are
// the same bytes.
func TestRunnerPublishesWhatAnAddressPushes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := project{files: map[string]string{"Dockerfile": "FROM scratch\nCOPY a /\n", "a": "a"}}
	pushed := f.build(f.request(p))
	f.host = devtest.Registry(t) // one that has nothing
	f.connect()
	f.runner(t.TempDir())
	if d := cmp.Diff(pushed, f.build(f.request(p))); d != "" {
		t.Errorf("(-pushed +published)\n%s", d)
	}
}

// A runner that is killed leaves its folder, which the next one removes.
func TestRunnerKilled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	temp := t.TempDir()
	f.runner(temp)
	p := sleeping(f)
	tree, err := p.tree()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PHAROS_TEST_ROLE=runner", "PHAROS_TEST_TEMP="+temp, "PHAROS_TEST_ADDRESS="+f.address,
		"PHAROS_TEST_REGISTRY="+f.host, "PHAROS_TEST_DOCKERFILE="+p.files["Dockerfile"], "PHAROS_TEST_DIGEST="+p.lock[f.host+"/base:1"])
	out := &announcing{line: "sleeping\n", seen: make(chan struct{})}
	seen := out.seen
	cmd.Stdout = out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-seen
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// It was killed.
	_ = cmd.Wait()
	if left, err := filepath.Glob(filepath.Join(temp, "pharos-runner-*")); err != nil || len(left) != 1 {
		t.Fatalf("%v is left, %v", left, err)
	}
	f.build(f.request(project{files: map[string]string{"Dockerfile": "FROM scratch\nCOPY a /\n", "a": "a"}}))
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	_ = tree
}
