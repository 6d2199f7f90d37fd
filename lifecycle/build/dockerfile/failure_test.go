package dockerfile_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
)

// refusing is a backend that is not to be asked.
type refusing struct{ t *testing.T }

func (r refusing) Solve(context.Context, dockerfile.Solve) (dockerfile.Solved, error) {
	r.t.Error("BuildKit was asked")
	return dockerfile.Solved{}, errors.New("not here")
}

func TestUndeclaredSources(t *testing.T) {
	t.Parallel()
	f := &fixture{t: t, host: "registry.invalid"}
	f.use(refusing{t})
	for name, c := range map[string]struct {
		dockerfile string
		inputs     string
		links      map[string]string
		want       []lifecycle.MissingInput
	}{
		"a folder":            {dockerfile: "COPY web/public /srv/", want: []lifecycle.MissingInput{{Path: "web/public", Pattern: "web/public"}}},
		"a file":              {dockerfile: "COPY web/src/a.js web/public/x.png /srv/", want: []lifecycle.MissingInput{{Path: "web/public/x.png", Pattern: "web/public/x.png"}}},
		"several":             {dockerfile: "COPY web/public /srv/\nADD ./libs/!x/a /a\nRUN --mount=target=/m,source=go.mod true", want: []lifecycle.MissingInput{{Path: "go.mod", Pattern: "go.mod"}, {Path: "libs/!x/a", Pattern: `libs/\!x/a`}, {Path: "web/public", Pattern: "web/public"}}},
		"by an argument":      {dockerfile: "ARG DIR=public\nCOPY web/$DIR /srv/", want: []lifecycle.MissingInput{{Path: "web/public", Pattern: "web/public"}}},
		"excluded":            {dockerfile: "COPY web/src/b.js /srv/", inputs: `[Dockerfile, web/src, "!web/src/b.js"]`, want: []lifecycle.MissingInput{{Path: "web/src/b.js", Pattern: "web/src/b.js"}}},
		"in a stage":          {dockerfile: "COPY web/public /srv/\nFROM scratch\nCOPY --from=0 /srv /", want: []lifecycle.MissingInput{{Path: "web/public", Pattern: "web/public"}}},
		"with leading dots":   {dockerfile: "COPY ../web/public/ /srv/", want: []lifecycle.MissingInput{{Path: "web/public", Pattern: "web/public"}}},
		"wildcards in folder": {dockerfile: "COPY libs/*/a /srv/", want: []lifecycle.MissingInput{{Path: "libs/*/a", Pattern: "libs/*/a"}}},
	} {
		p := project{
			inputs: "[Dockerfile, web/src]",
			files: map[string]string{
				"Dockerfile": "FROM scratch\n" + c.dockerfile + "\n", "web/src/a.js": "a", "web/src/b.js": "b", "web/public/x.png": "x", "libs/!x/a": "a", "go.mod": "m",
			},
		}
		if c.inputs != "" {
			p.inputs = c.inputs
		}
		if d := cmp.Diff(c.want, f.fail(f.request(p)).Missing); d != "" {
			t.Errorf("%s: (-want +got)\n%s", name, d)
		}
	}
}

// What one platform finds, another may lack.
func TestUndeclaredSourcesOfOnePlatform(t *testing.T) {
	t.Parallel()
	f := &fixture{t: t, host: "registry.invalid"}
	f.use(refusing{t})
	p := project{
		inputs: "[Dockerfile, bin/amd64]", platforms: "[linux/amd64, linux/arm64]",
		files: map[string]string{"Dockerfile": "FROM scratch\nARG TARGETARCH\nCOPY bin/$TARGETARCH /tool\n", "bin/amd64": "a", "bin/arm64": "b"},
	}
	if d := cmp.Diff([]lifecycle.MissingInput{{Path: "bin/arm64", Pattern: "bin/arm64"}}, f.fail(f.request(p)).Missing); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// BuildKit names no file, and Git takes every name.
func TestNamesThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := project{files: map[string]string{"Dockerfile": "FROM scratch\nCOPY src /\n", "src/caf\xe9": "1", "src/ok": "2"}}
	if failed := f.fail(f.request(p)); !strings.Contains(failed.Reason, `its inputs hold "src/caf\xe9"`) {
		t.Errorf("got %v", failed)
	}
}

// Only BuildKit knows the variables of a base.
func TestUndeclaredSourcesThatBuildKitFinds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	base := f.host + "/base:1"
	p := project{
		inputs: "[Dockerfile]",
		files:  map[string]string{"Dockerfile": "FROM " + base + "\nCOPY web$UNKNOWN/public /srv/\n", "web/public/a": "a"},
		lock:   map[string]string{base: f.busybox(base)},
	}
	failed := f.fail(f.request(p))
	if d := cmp.Diff([]lifecycle.MissingInput{{Path: "web/public", Pattern: "web/public"}}, failed.Missing); d != "" {
		t.Errorf("%v: (-want +got)\n%s", failed, d)
	}
	if !strings.HasPrefix(failed.Reason, "Dockerfile:2: ") {
		t.Errorf("got %q", failed.Reason)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dockerfile string
		recipe     catalogue.DockerfileBuild
		reason     string
		output     string
	}{
		"a command":                {dockerfile: "FROM BASE\nRUN echo one >&2 && \\\n    echo two >&2 && exit 3\n", reason: "Dockerfile:2: RUN echo one >&2 &&     echo two >&2 && exit 3: exit code: 3", output: "one\ntwo\n"},
		"a missing program":        {dockerfile: "FROM BASE\nRUN nothere\n", reason: "exit code: 127", output: "not found"},
		"a source that is nowhere": {dockerfile: "FROM BASE\nCOPY gone /\n", reason: "Dockerfile:2: gone is not there: the context is the root of the tree, and holds nothing at that path"},
		"a stage that is not":      {dockerfile: "FROM BASE\n", recipe: catalogue.DockerfileBuild{Target: "prod"}, reason: `has no stage "prod"`},
		"the machine's network":    {dockerfile: "FROM BASE\n# --network=host\nRUN true\nRUN --network=host \\\n    true\n", reason: "Dockerfile:4: RUN --network=host is not allowed"},
		"a privileged command":     {dockerfile: "FROM BASE\n\nRUN --security=insecure true\n", reason: "Dockerfile:3: RUN --security=insecure is not allowed"},
		"a download":               {dockerfile: "FROM BASE\nADD http://127.0.0.1/x /x\n", reason: "Dockerfile:2: ADD http://127.0.0.1/x: is fetched, and no checksum says what it must be: add --checksum=sha256:"},
		"an argument for the form": {dockerfile: "FROM BASE\n", recipe: catalogue.DockerfileBuild{Args: map[string]string{"BUILDKIT_MULTI_PLATFORM": "false"}}, reason: "BUILDKIT_MULTI_PLATFORM"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			base := f.host + "/base:1"
			p := project{files: map[string]string{"Dockerfile": "FROM " + base + "\n"}, lock: map[string]string{base: f.busybox(base)}}
			r := f.request(p)
			// What is wrong with some of these shows when fingerprints are computed.
			tree, err := p.with(map[string]string{"Dockerfile": strings.ReplaceAll(c.dockerfile, "BASE", base)}).tree()
			if err != nil {
				t.Fatal(err)
			}
			r.Full, r.State.Inputs, r.State.Image.Build.Dockerfile = tree, tree, &c.recipe
			failed := f.fail(r)
			if !strings.Contains(failed.Reason, c.reason) || !strings.Contains(failed.Output, c.output) {
				t.Errorf("got %v\nwant %q and the output %q", failed, c.reason, c.output)
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := silent.Addr().String()
	if err := silent.Close(); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"unix://" + filepath.Join(t.TempDir(), "none.sock"), "tcp://" + gone} {
		f.connect(func(c *dockerfile.AddressConfig) { c.Address = address })
		_, err := f.Build(t.Context(), f.request(project{files: map[string]string{"Dockerfile": "FROM scratch\nCOPY Dockerfile /\n"}}))
		failed, ok := errors.AsType[*lifecycle.Error](err)
		if !ok || !errors.Is(err, lifecycle.ErrUnreachable) || !strings.Contains(failed.Advice, address) ||
			!strings.HasPrefix(err.Error(), "build image web: reach BuildKit "+address+": dial ") || strings.Contains(err.Error(), "desc =") {
			t.Errorf("%s: got %v", address, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"tcp://127.0.0.1:1234": true, "unix:///run/buildkit/buildkitd.sock": true, "tcp://[::1]:1": true,
		"": false, "127.0.0.1:1234": false, "tcp://host": false, "tcp://host:1/path": false, "unix://run/x": false, "kube-pod://x": false, "ssh://host": false,
		"docker-container://x": false, "tcp://user:hunter2@host:1": false, "tcp://hunter2\x00": false,
	} {
		_, err := dockerfile.NewAddress(dockerfile.AddressConfig{Address: address})
		if (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error holds a password: %v", err)
		}
	}
}

// announcing tells when a line was printed. It has no methods of its buffer, by
// which others would write past it.
type announcing struct {
	printed bytes.Buffer
	line    string
	seen    chan struct{}
}

func (a *announcing) Write(p []byte) (int, error) {
	n, err := a.printed.Write(p)
	if a.seen != nil && strings.Contains(a.printed.String(), a.line) {
		close(a.seen)
		a.seen = nil
	}
	return n, err
}

// sleeping is a project whose build takes for ever once it has said so.
func sleeping(f *fixture) project {
	base := f.host + "/base:1"
	return project{
		files: map[string]string{"Dockerfile": "FROM " + base + "\nRUN echo first >/first\nRUN echo sleep''ing && sleep 10000\n"},
		lock:  map[string]string{base: f.busybox(base)},
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	b := devtest.OwnBuildKit(t, devenv.BuildKitOptions{})
	f := fixtureOn(t, b)
	r := f.request(sleeping(f))
	out := &announcing{line: "sleeping\n", seen: make(chan struct{})}
	seen := out.seen
	r.Output = out
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("enough")
	go func() {
		<-seen
		cancel(stopped)
	}()
	if _, err := f.Build(ctx, r); !errors.Is(err, stopped) {
		t.Errorf("got %v, want %v", err, stopped)
	}
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return !b.Runs("sleep 10000"), nil
	}); err != nil {
		t.Errorf("the step goes on in BuildKit: %v", err)
	}
}

// BuildKit is killed in the middle of a build. The next one goes on with what it
// had done.
func TestBuildKitKilled(t *testing.T) {
	t.Parallel()
	b := devtest.OwnBuildKit(t, devenv.BuildKitOptions{})
	f := fixtureOn(t, b)
	p := sleeping(f)
	r := f.request(p)
	out := &announcing{line: "sleeping\n", seen: make(chan struct{})}
	seen := out.seen
	r.Output = out
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		<-seen
		b.Kill()
	}()
	_, err := f.Build(t.Context(), r)
	<-killed
	failed, ok := errors.AsType[*lifecycle.Error](err)
	if !ok || !errors.Is(err, lifecycle.ErrUnreachable) || !strings.Contains(failed.Advice, "went away") {
		t.Fatalf("got %v", err)
	}
	if err := b.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	r = f.request(p.with(map[string]string{"Dockerfile": strings.ReplaceAll(p.files["Dockerfile"], "sleep 10000", "true")}))
	r.Output = &again
	f.build(r)
	if !strings.Contains(again.String(), "CACHED") {
		t.Errorf("the first step ran again:\n%s", again.String())
	}
}

func TestDiskFull(t *testing.T) {
	t.Parallel()
	b := devtest.OwnBuildKit(t, devenv.BuildKitOptions{Size: 64})
	f := fixtureOn(t, b)
	base := f.host + "/base:1"
	p := project{
		files: map[string]string{"Dockerfile": "FROM " + base + "\nRUN dd if=/dev/zero of=/large bs=1M count=200\n"},
		lock:  map[string]string{base: f.busybox(base)},
	}
	r := f.request(p)
	r.Output = io.Discard
	_, err := f.Build(t.Context(), r)
	failed, ok := errors.AsType[*lifecycle.Error](err)
	if !ok || errors.Is(err, lifecycle.ErrSource) || !strings.Contains(failed.Advice, "not the commit") {
		t.Errorf("got %v", err)
	}
}

func TestRegistryThatRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := project{files: map[string]string{"Dockerfile": "FROM scratch\nCOPY Dockerfile /\n"}}
	for name, repository := range map[string]string{"not there": "127.0.0.1:1/dev/web"} {
		r := f.request(p)
		r.Repository = repository
		if _, err := f.Build(t.Context(), r); !errors.Is(err, lifecycle.ErrUnreachable) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestBaseThatIsGone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	base := f.host + "/base:1"
	p := project{
		files: map[string]string{"Dockerfile": "FROM " + base + "\nCOPY Dockerfile /\n"},
		lock:  map[string]string{base: "sha256:" + strings.Repeat("0", 64)},
	}
	if failed := f.fail(f.request(p)); !strings.Contains(failed.Reason, "is not in the registry") {
		t.Errorf("got %v", failed)
	}
}

// What ADD fetches comes from no registry.
func TestAddFromNowhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := project{files: map[string]string{"Dockerfile": "FROM scratch\nADD --checksum=sha256:" + strings.Repeat("0", 64) + " http://127.0.0.1:1/a /\n"}}
	_, err := f.Build(t.Context(), f.request(p))
	if failed, ok := errors.AsType[*lifecycle.Error](err); !ok || !errors.Is(err, lifecycle.ErrUnreachable) || !strings.Contains(failed.Advice, "the address that ADD fetches from") {
		t.Errorf("got %v", err)
	}
}
