package render

import (
	"runtime/debug"
	"sync"

	"github.com/pharos-dev/pharos/receipt"
)

const (
	kustomizeModule = "sigs.k8s.io/kustomize/api"
	// kustomizeVersion is what go.mod requires. It answers for binaries
	// without build information; a test keeps the two equal.
	kustomizeVersion = "v0.21.2"
)

// id names the renderer: the name "kustomize" and the version of kustomize's
// API module that is linked, which may be newer than the one that Pharos
// requires.
var id = sync.OnceValue(func() receipt.Renderer {
	version := kustomizeVersion
	if info, ok := debug.ReadBuildInfo(); ok {
		version = linkedVersion(info.Deps, version)
	}
	return receipt.Renderer{Name: "kustomize", Version: version}
})

func linkedVersion(deps []*debug.Module, fallback string) string {
	for _, m := range deps {
		if m.Path != kustomizeModule {
			continue
		}
		for m.Replace != nil {
			m = m.Replace
		}
		if m.Version != "" {
			return m.Version
		}
	}
	return fallback
}
