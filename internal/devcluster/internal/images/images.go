package images

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/compression"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Pause pushes an image of the program, which holds the namespaces of a pod, and returns its reference by digest.
func Pause(ctx context.Context, registry, program string) (string, error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return "", err
	}
	return push(ctx, registry+"/pause", v1.Config{Entrypoint: []string{"/pause"}}, []entry{
		{tar.Header{Typeflag: tar.TypeReg, Name: "pause", Mode: 0o755}, content},
	})
}

// Busybox pushes an image of Debian's static busybox with a link for each of its commands, and returns its reference by
// digest.
func Busybox(ctx context.Context, registry string) (string, error) {
	program, err := busybox()
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return "", err
	}
	commands, err := exec.CommandContext(ctx, program, "--list").Output()
	if err != nil {
		return "", fmt.Errorf("list the commands of busybox: %w", err)
	}
	entries := []entry{
		dir("bin", 0o755), dir("etc", 0o755), dir("root", 0o700), dir("tmp", 0o1777), dir("var", 0o755),
		{tar.Header{Typeflag: tar.TypeReg, Name: "bin/busybox", Mode: 0o755}, content},
		{tar.Header{Typeflag: tar.TypeReg, Name: "etc/passwd", Mode: 0o644}, []byte("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n")},
		{tar.Header{Typeflag: tar.TypeReg, Name: "etc/group", Mode: 0o644}, []byte("root:x:0:\nnogroup:x:65534:\n")},
	}
	for c := range strings.FieldsSeq(string(commands)) {
		if c != "busybox" {
			entries = append(entries, entry{Header: tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + c, Linkname: "busybox", Mode: 0o777}})
		}
	}
	return push(ctx, registry+"/busybox", v1.Config{Env: []string{"PATH=/bin"}, Cmd: []string{"sh"}}, entries)
}

// busybox finds the program where Debian's packages have it.
func busybox() (string, error) {
	for _, path := range []string{"/usr/bin/busybox", "/bin/busybox"} {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", errors.New("busybox is not installed (Debian package busybox-static)")
}

// entry is a file of an image; its size is the content's.
type entry struct {
	tar.Header
	content []byte
}

func dir(name string, mode int64) entry {
	return entry{Header: tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode}}
}

// push pushes an image with one layer. The layer is not compressed: it crosses no network.
func push(ctx context.Context, repository string, config v1.Config, entries []entry) (string, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		e.Size = int64(len(e.content))
		if err := w.WriteHeader(&e.Header); err != nil {
			return "", err
		}
		if _, err := w.Write(e.content); err != nil {
			return "", err
		}
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buf.Bytes())), nil },
		tarball.WithCompression(compression.None))
	if err != nil {
		return "", err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return "", err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return "", err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", runtime.GOARCH, config
	if image, err = mutate.ConfigFile(image, file); err != nil {
		return "", err
	}
	digest, err := image.Digest()
	if err != nil {
		return "", err
	}
	reference, err := name.NewDigest(repository+"@"+digest.String(), name.Insecure)
	if err != nil {
		return "", err
	}
	if err := remote.Write(reference, image, remote.WithContext(ctx)); err != nil {
		return "", err
	}
	return reference.String(), nil
}
