package files_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/files"
)

// objects are those of a tree in which a file has other content.
type objects struct {
	source.Objects
	id   source.ID
	open func() (io.ReadCloser, int64, error)
}

func (o objects) Blob(ctx context.Context, id source.ID) (io.ReadCloser, int64, error) {
	if id == o.id {
		return o.open()
	}
	return o.Objects.Blob(ctx, id)
}

// replaced is a tree with a file "a/big" whose content open returns.
func replaced(t *testing.T, open func() (io.ReadCloser, int64, error)) source.Tree {
	t.Helper()
	tree, err := source.FromFiles(map[string]source.File{"a/big": {Content: "to be replaced"}, "a/small": {}})
	if err != nil {
		t.Fatal(err)
	}
	tree.Objects = objects{tree.Objects, source.HashBlob([]byte("to be replaced")), open}
	return tree
}

// zeros is that many bytes.
func zeros(n int64) (io.ReadCloser, int64, error) {
	return io.NopCloser(io.LimitReader(zero{}, n)), n, nil
}

type zero struct{}

func (zero) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Memory does not grow with the size of a file. It is not parallel to others,
// whose memory would count.
func TestBigFile(t *testing.T) {
	const size = 192 << 20
	tree := replaced(t, func() (io.ReadCloser, int64, error) { return zeros(size) })
	b, err := files.New(files.Config{Registry: discard{}, TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, mediaType := range []string{"", "application/vnd.oci.image.layer.v1.tar"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		res, err := b.Build(t.Context(), request("localhost:1", tree, tree, catalogue.FilesBuild{From: "a", MediaType: mediaType}))
		if err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > size/8 {
			t.Errorf("%s: %d bytes of memory for a file of %d", mediaType, used, size)
		}
		if mediaType != "" && res.Size < size {
			t.Errorf("the layer has %d bytes", res.Size)
		}
	}
}

// Fifty thousand files in many folders are packed, each of them.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	const count = 50_000
	f := newFixture(t)
	all := make(map[string]source.File, count)
	for i := range count {
		all["d"+strconv.Itoa(i%500)+"/f"+strconv.Itoa(i)] = source.File{Content: "content of " + strconv.Itoa(i)}
	}
	r := f.request(all, catalogue.FilesBuild{Root: "/srv"})
	list, _ := images(t, pulled(t, r, f.build(r)))
	entries := unpacked(t, list[0])
	if len(entries) != 1+500+count {
		t.Errorf("there are %d entries", len(entries))
	}
	for _, e := range entries {
		if name, isFile := strings.CutPrefix(e.Name, "srv/"); isFile && !strings.HasSuffix(name, "/") && name != "" && e.Content != all[name].Content {
			t.Errorf("%s is %q", e.Name, e.Content)
		}
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the user pressed Ctrl-C")
	tree := replaced(t, func() (io.ReadCloser, int64, error) {
		cancel(why)
		return nil, 0, ctx.Err()
	})
	_, err := f.Build(ctx, request(f.host, tree, tree, catalogue.FilesBuild{}))
	if !errors.Is(err, why) || errors.Is(err, lifecycle.ErrSource) {
		t.Errorf("got the error %v, want the context's cause and no fault of the source", err)
	}
	f.empty()
}

// A file that does not have the size that it was said to have makes no image.
func TestCorruptFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, size := range []int64{1, 1 << 20} {
		tree := replaced(t, func() (io.ReadCloser, int64, error) {
			r, _, err := zeros(4096)
			return r, size, err
		})
		if failed := f.fail(request(f.host, tree, tree, catalogue.FilesBuild{})); !strings.Contains(failed.Reason, "a/big") {
			t.Errorf("got %v", failed)
		}
	}
}

// TestFaultsOfTheMachine wants faults of the machine not to be taken for faults of
// the commit, and to say what to do.
func TestFaultsOfTheMachine(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	closed, gone := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "gone")
	if err := os.WriteFile(closed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, advice := range map[string]string{closed: "", gone: "This machine's folder " + gone + " is not there"} {
		b, err := newBuilder(dir)
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.Build(t.Context(), f.request(site, catalogue.FilesBuild{}))
		e, ok := errors.AsType[*lifecycle.Error](err)
		if !ok || e.Class != nil || !strings.Contains(err.Error(), dir) || !strings.Contains(e.Advice, advice) {
			t.Errorf("%v, want an error of no class that names %s and advises %q", err, dir, advice)
		}
	}
}

func TestRegistryThatCannotBeReached(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	r := f.request(site, catalogue.FilesBuild{})
	r.Repository = l.Addr().String() + "/dev/site" // nobody listens there any more
	if _, err := f.Build(t.Context(), r); !errors.Is(err, lifecycle.ErrUnreachable) {
		t.Errorf("got %v, want an ErrUnreachable", err)
	}
	f.empty()
	if _, err := files.New(files.Config{}); err == nil {
		t.Error("a builder without a registry")
	}
}
