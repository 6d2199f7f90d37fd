package render

import (
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/pharos-dev/pharos/lifecycle"
)

// requestKey stands for what a render is asked for, without the tree, and for
// the program that renders.
type requestKey string

// keyOf returns the key of a request for a clean overlay.
func keyOf(overlay string, r lifecycle.RenderRequest) requestKey {
	d := digester{sha256.New()}
	d.text(program())
	d.text(overlay)
	d.number(len(r.Images))
	for _, i := range r.Images {
		d.text(i.Name)
		d.text(i.Repository)
		d.text(string(i.Digest))
		d.truth(i.Base)
		d.truth(i.Artifact)
	}
	d.number(len(r.Labels))
	for _, name := range slices.Sorted(maps.Keys(r.Labels)) {
		d.text(name)
		d.text(r.Labels[name])
	}
	return requestKey(d.sum())
}

// sources are this package's own. They are a part of the key, so that no
// rendering outlives the code that made it, in builds without a version either.
// Each is named, since tests have no part in it.
//
//go:embed build.go cache.go cache_disk.go cache_key.go convert.go deprecated.go doc.go entries.go explain.go
//go:embed filesystem.go findings.go guard.go lines.go plugins.go problem.go remote.go rename.go render.go
//go:embed scan.go secrets.go secrets_find.go sops.go trace.go tree.go version.go
var sources embed.FS

// program stands for everything in the program that has a part in a render: the
// renderer and its version, this package, the versions of all modules, and Go's.
var program = sync.OnceValue(func() string {
	d := digester{sha256.New()}
	d.text(id().Name)
	d.text(id().Version)
	d.text(runtime.Version())
	files, _ := sources.ReadDir(".") // what is embedded can be read
	for _, f := range files {
		content, _ := sources.ReadFile(f.Name())
		d.text(f.Name())
		d.text(string(content))
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		modules := append([]*debug.Module{&info.Main}, info.Deps...)
		for _, m := range modules {
			for m.Replace != nil {
				m = m.Replace
			}
			d.text(m.Path)
			d.text(m.Version)
			d.text(m.Sum)
		}
		for _, s := range info.Settings {
			d.text(s.Key)
			d.text(s.Value)
		}
	}
	return d.sum()
})

// digester hashes values with their lengths, so that no two lists of values give
// the same bytes.
type digester struct{ hash.Hash }

func (d digester) number(n int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	d.Write(b[:])
}

func (d digester) text(s string) {
	d.number(len(s))
	d.Write([]byte(s))
}

func (d digester) truth(b bool) {
	if b {
		d.number(1)
		return
	}
	d.number(0)
}

func (d digester) sum() string { return hex.EncodeToString(d.Sum(nil)) }
