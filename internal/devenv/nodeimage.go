package devenv

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/compression"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// gitCore is where Debian has the parts of git.
const gitCore = "/usr/lib/git-core"

// pushBuildKit pushes the image of BuildKit and returns its reference as the node sees it.
func (n *Node) pushBuildKit(ctx context.Context) (string, error) {
	buildkitd, buildctl, err := BuildKitPrograms(ctx, nil)
	if err != nil {
		return "", err
	}
	fail := func(err error) (string, error) { return "", fmt.Errorf("make an image of BuildKit: %w", err) }
	files := imageFiles{}
	files.file("/usr/bin/buildkitd", buildkitd)
	files.file("/usr/bin/buildctl", buildctl)
	if err := files.debian(ctx); err != nil {
		return fail(err)
	}
	image, err := files.image(v1.Config{
		Env:        []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "GIT_EXEC_PATH=" + gitCore},
		Entrypoint: []string{"/usr/bin/buildkitd"},
	})
	if err != nil {
		return fail(err)
	}
	digest, err := image.Digest()
	if err != nil {
		return fail(err)
	}
	reference, err := name.NewDigest(n.PushRegistry()+"/buildkit@"+digest.String(), name.Insecure)
	if err != nil {
		return fail(err)
	}
	if err := remote.Write(reference, image, remote.WithContext(ctx)); err != nil {
		return fail(err)
	}
	return n.PullRegistry() + "/buildkit@" + digest.String(), nil
}

// imageFiles are the files of an image by path: what a link points to, or the file of this machine to copy.
type imageFiles map[string]imageFile

type imageFile struct {
	source, link string
	content      []byte
}

func (f imageFiles) file(path, source string)     { f[path] = imageFile{source: source} }
func (f imageFiles) link(path, target string)     { f[path] = imageFile{link: target} }
func (f imageFiles) text(path, content string)    { f[path] = imageFile{content: []byte(content)} }
func (f imageFiles) has(path string) (found bool) { _, found = f[path]; return found }

// debian adds what BuildKit runs: runc, git for sources over HTTP, and a shell with commands for scripts; flock, which
// Debian's busybox has not, is among them.
func (f imageFiles) debian(ctx context.Context) error {
	f.text("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
	f.text("/etc/group", "root:x:0:\n")
	if err := f.busybox(ctx); err != nil {
		return err
	}
	for _, p := range []string{"runc", "git", "flock"} {
		found, err := exec.LookPath(p)
		if err != nil {
			return fmt.Errorf("%w (Debian package %s)", err, p)
		}
		if err := f.program(ctx, "/usr/bin/"+p, found); err != nil {
			return err
		}
	}
	return f.gitCore(ctx)
}

func (f imageFiles) busybox(ctx context.Context) error {
	source, ok := need{paths: in(systemPath, "busybox")}.find()
	if !ok {
		return errors.New("busybox is not installed (Debian package busybox-static)")
	}
	applets, err := exec.CommandContext(ctx, source, "--list").Output()
	if err != nil {
		return fmt.Errorf("list the commands of busybox: %w", err)
	}
	f.file("/bin/busybox", source)
	for _, applet := range strings.Fields(string(applets)) {
		if path := "/bin/" + applet; !f.has(path) {
			f.link(path, "busybox")
		}
	}
	return nil
}

// gitCore adds what git runs to fetch over HTTP and to check out: its helper for HTTP and its shell scripts.
func (f imageFiles) gitCore(ctx context.Context) error {
	f.link(gitCore+"/git", "../../bin/git")
	f.link(gitCore+"/git-remote-https", "git-remote-http")
	if err := f.program(ctx, gitCore+"/git-remote-http", gitCore+"/git-remote-http"); err != nil {
		return err
	}
	for _, name := range []string{"git-submodule", "git-sh-setup", "git-sh-i18n", "git-sh-i18n--envsubst"} {
		source := filepath.Join(gitCore, name)
		if _, err := os.Stat(source); err != nil {
			return err
		}
		if err := f.program(ctx, source, source); err != nil {
			return err
		}
	}
	return nil
}

// program adds a program with the shared libraries that it is linked to.
func (f imageFiles) program(ctx context.Context, path, source string) error {
	f.file(path, source)
	if static(source) {
		return nil
	}
	out, err := exec.CommandContext(ctx, "ldd", source).Output()
	if err != nil {
		return fmt.Errorf("list the libraries of %s: %w", source, err)
	}
	for line := range strings.Lines(string(out)) {
		// "libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x...)", or for the loader "/lib64/ld-linux-x86-64.so.2 (0x...)".
		for _, field := range strings.Fields(line) {
			if strings.HasPrefix(field, "/") {
				f.file(field, field)
			}
		}
	}
	return nil
}

// static reports whether the file needs no loader: a static program, or a script.
func static(path string) bool {
	e, err := elf.Open(path)
	if err != nil {
		return true
	}
	defer e.Close()
	return !slices.ContainsFunc(e.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

// image makes an image with one layer. The layer is not compressed: it crosses no network.
func (f imageFiles) image(config v1.Config) (v1.Image, error) {
	content, err := f.tar()
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithCompression(compression.None))
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", runtime.GOARCH, config
	return mutate.ConfigFile(image, file)
}

func (f imageFiles) tar() ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	dirs := map[string]fs.FileMode{"/tmp": 0o777 | fs.ModeSticky, "/root": 0o700, "/run": 0o755, "/var/lib": 0o755}
	for name := range f {
		for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
			if _, ok := dirs[dir]; !ok {
				dirs[dir] = 0o755
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		mode := int64(dirs[dir].Perm())
		if dirs[dir]&fs.ModeSticky != 0 {
			mode |= 0o1000
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: strings.TrimPrefix(dir, "/") + "/", Mode: mode}); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if err := f[name].write(w, strings.TrimPrefix(name, "/")); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

func (f imageFile) write(w *tar.Writer, name string) error {
	if f.link != "" {
		return w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: f.link, Mode: 0o777})
	}
	content, mode := f.content, int64(0o644)
	if f.source != "" {
		var err error
		if content, err = os.ReadFile(f.source); err != nil {
			return err
		}
		mode = 0o755
	}
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content))}); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}
