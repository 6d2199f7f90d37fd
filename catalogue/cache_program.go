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
//go:embed check.go check_case.go check_image.go check_patterns.go check_program.go check_run.go classify.go
//go:embed classify_images.go doc.go dockerfile/args.go dockerfile/context.go dockerfile/dependencies.go
//go:embed dockerfile/doc.go dockerfile/evaluate.go dockerfile/expand.go dockerfile/filter.go dockerfile/ignore.go
//go:embed dockerfile/ignored.go dockerfile/limits.go dockerfile/mounts.go dockerfile/parse.go dockerfile/plan.go
//go:embed dockerfile/reads.go dockerfile/reference.go dockerfile/remote.go dockerfile/rules.go dockerfile/stages.go
//go:embed dockerfile/takes.go dockerfile/undeclared.go dockerfile/unset.go dockerfile/wildcards.go dockerfiles.go
//go:embed dockerfiles_missing.go explain.go explain_basis.go explain_fields.go explain_inputs.go explain_reason.go
//go:embed fingerprint.go fingerprint_recipe.go lfs.go lfs_look.go limits.go load.go lock.go memo.go parse.go
//go:embed parse_build.go parse_env.go parse_run.go parse_value.go patterns.go patterns_match.go patterns_parse.go
//go:embed platform.go prune.go prune_symlink.go prune_walk.go references.go resolve.go run.go states.go
//go:embed states_recipe.go template.go toolchain.go toolchain_oldest.go triggers.go
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
