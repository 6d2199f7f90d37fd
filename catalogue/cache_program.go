package catalogue

import (
	"crypto/sha256"
	"embed"
	"io"
	"io/fs"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
)

// sources are those of this package and of the one that reads Dockerfiles. They
// are a part of every question, so that no answer outlives the code that gave it,
// in builds without a version either. Each is named, since tests have no part in
// it.
//
//go:embed basis.go cache.go cache_again.go cache_catalogue.go cache_links.go cache_pointers.go cache_program.go
//go:embed cache_reader.go cache_recipe.go cache_remains.go cache_run.go cache_slots.go cache_states.go catalogue.go
//go:embed check.go check_case.go check_image.go check_patterns.go check_program.go classify.go classify_images.go
//go:embed doc.go dockerfile/args.go dockerfile/context.go dockerfile/dependencies.go dockerfile/doc.go
//go:embed dockerfile/evaluate.go dockerfile/expand.go dockerfile/filter.go dockerfile/ignore.go dockerfile/ignored.go
//go:embed dockerfile/limits.go dockerfile/mounts.go dockerfile/parse.go dockerfile/plan.go dockerfile/reads.go
//go:embed dockerfile/reference.go dockerfile/remote.go dockerfile/rules.go dockerfile/stages.go dockerfile/takes.go
//go:embed dockerfile/undeclared.go dockerfile/unset.go dockerfile/wildcards.go dockerfiles.go dockerfiles_missing.go
//go:embed explain.go explain_basis.go explain_fields.go explain_inputs.go explain_reason.go fingerprint.go
//go:embed fingerprint_recipe.go lfs.go lfs_look.go limits.go load.go lock.go memo.go parse.go parse_build.go
//go:embed parse_env.go parse_run.go parse_value.go patterns.go patterns_match.go patterns_parse.go platform.go
//go:embed prune.go prune_symlink.go prune_walk.go references.go resolve.go run.go states.go states_recipe.go
//go:embed template.go toolchain.go toolchain_oldest.go triggers.go
var sources embed.FS

// program stands for everything in the program that has a part in an answer: these
// sources, the versions of all modules, and Go's.
var program = sync.OnceValue(func() []byte {
	h := sha256.New()
	add := func(texts ...string) { h.Write(appendTexts(nil, texts)) }
	add(runtime.Version())
	// What is embedded can be read.
	_ = fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, _ error) error {
		if !d.IsDir() {
			file, _ := sources.Open(path)
			info, _ := file.Stat()
			add(path, strconv.FormatInt(info.Size(), 10))
			_, _ = io.Copy(h, file)
		}
		return nil
	})
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
			for m.Replace != nil {
				m = m.Replace
			}
			add(m.Path, m.Version, m.Sum)
		}
		for _, s := range info.Settings {
			add(s.Key, s.Value)
		}
	}
	return h.Sum(nil)
})
