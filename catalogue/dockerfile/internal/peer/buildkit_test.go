package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	gofs "io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/containerd/continuity/fs"
	"github.com/distribution/reference"
	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/moby/buildkit/frontend/dockerui"
	"github.com/moby/buildkit/solver/pb"
	"github.com/moby/patternmatcher/ignorefile"
	digest "github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/tonistiigi/fsutil"
	copier "github.com/tonistiigi/fsutil/copy"
	"github.com/tonistiigi/fsutil/types"
)

// outcome is what a build takes.
type outcome struct {
	bases []string // normalized references, sorted
	files []string // the regular files of the context, sorted
}

// registry says of every image that it exists, and which were asked for.
type registry struct {
	mu    sync.Mutex
	asked []string
}

func (r *registry) ResolveImageConfig(_ context.Context, ref string, _ sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, ref)
	config := `{"os":"linux","architecture":"amd64","config":{},"rootfs":{"type":"layers","diff_ids":["` + digest.FromString(ref) + `"]}}`
	return ref, "", []byte(config), nil
}

// build does with a folder what a build with BuildKit does, as far as it takes
// images and files. Every file's content is its path.
func build(t *testing.T, dir, dockerfile, target string, args map[string]string) (outcome, error) {
	t.Helper()
	ctx := t.Context()
	content, err := os.ReadFile(filepath.Join(dir, dockerfile))
	if err != nil {
		t.Fatal(err)
	}
	platform := ocispecs.Platform{OS: "linux", Architecture: "amd64"}
	registry := &registry{}
	result, err := dockerfile2llb.Dockerfile2LLB(ctx, content, dockerfile2llb.ConvertOpt{
		Config:         dockerui.Config{Target: target, BuildArgs: args, BuildPlatforms: []ocispecs.Platform{platform}},
		TargetPlatform: &platform,
		MetaResolver:   registry,
	})
	if err != nil {
		return outcome{}, err
	}
	definition, err := result.State.Marshal(ctx, llb.LinuxAmd64)
	if err != nil {
		return outcome{}, err
	}
	out := outcome{bases: registry.asked}
	ops := map[string]*pb.Op{}
	for _, raw := range definition.Def {
		op := &pb.Op{}
		if err := op.UnmarshalVT(raw); err != nil {
			t.Fatal(err)
		}
		ops[digest.FromBytes(raw).String()] = op
		// What only ONBUILD leads to, the frontend does not ask for.
		if ref, ok := strings.CutPrefix(op.GetSource().GetIdentifier(), "docker-image://"); ok {
			out.bases = append(out.bases, ref)
		}
	}
	slices.Sort(out.bases)
	out.bases = slices.Compact(out.bases)
	context := func(op *pb.Op, input int64) (string, bool) {
		if input < 0 || int(input) >= len(op.Inputs) {
			return "", false
		}
		s := ops[op.Inputs[input].Digest].GetSource()
		if s == nil || s.Identifier != "local://context" {
			return "", false
		}
		return send(t, dir, dockerfile, s.Attrs), true
	}
	for _, op := range ops {
		for _, a := range op.GetFile().GetActions() {
			c := a.GetCopy()
			if c == nil {
				continue
			}
			sent, ok := context(op, a.SecondaryInput)
			if !ok {
				continue
			}
			files, err := copyFiles(t, sent, c)
			if err != nil {
				return outcome{}, err
			}
			out.files = append(out.files, files...)
		}
		for _, m := range op.GetExec().GetMounts() {
			sent, ok := context(op, m.Input)
			if !ok {
				continue
			}
			p, err := fs.RootPath(sent, m.Selector)
			if err != nil {
				return outcome{}, err
			}
			files, err := contents(p)
			if err != nil {
				return outcome{}, err
			}
			out.files = append(out.files, files...)
		}
	}
	slices.Sort(out.files)
	out.files = slices.DeleteFunc(slices.Compact(out.files), func(name string) bool {
		return name == dockerfile || strings.HasSuffix(name, ".dockerignore") // they are read anyway
	})
	return out, nil
}

// send is what a client sends of a folder: without what is ignored, and only
// what the source's attributes ask for.
func send(t *testing.T, dir, dockerfile string, attrs map[string]string) string {
	t.Helper()
	opt := &fsutil.FilterOpt{}
	for _, name := range []string{dockerfile + ".dockerignore", ".dockerignore"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			opt.ExcludePatterns, err = ignorefile.ReadAll(bytes.NewReader(content))
		}
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	if paths := attrs[pb.AttrFollowPaths]; paths != "" {
		if err := json.Unmarshal([]byte(paths), &opt.FollowPaths); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := fsutil.NewFS(dir)
	if err != nil {
		t.Fatal(err)
	}
	filtered, err := fsutil.NewFilterFS(whole, opt)
	if err != nil {
		t.Fatal(err)
	}
	sent := t.TempDir()
	err = filtered.Walk(t.Context(), "", func(path string, e gofs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		to := filepath.Join(sent, path)
		switch {
		case e.IsDir():
			return os.Mkdir(to, 0o755)
		case info.Mode()&os.ModeSymlink != 0:
			return os.Symlink(info.Sys().(*types.Stat).Linkname, to)
		default:
			return os.WriteFile(to, []byte(path), 0o644)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return sent
}

// copyFiles is what the daemon does for one copy, with each source by itself, so
// that none overwrites another.
func copyFiles(t *testing.T, sent string, c *pb.FileActionCopy) ([]string, error) {
	t.Helper()
	sources := []string{c.Src}
	if c.AllowWildcard {
		var err error
		if sources, err = copier.ResolveWildcards(sent, c.Src, c.FollowSymlink); err != nil {
			return nil, err
		}
	}
	var files []string
	took := false
	for _, source := range sources {
		dest := t.TempDir()
		err := copier.Copy(t.Context(), sent, source, dest, "/out/", func(ci *copier.CopyInfo) {
			ci.IncludePatterns, ci.ExcludePatterns = c.IncludePatterns, c.ExcludePatterns
			ci.CopyDirContents, ci.FollowLinks = c.DirCopyContents, c.FollowSymlink
		}, copier.AllowXAttrErrors)
		if err != nil {
			return nil, err
		}
		got, err := contents(dest)
		if err != nil {
			return nil, err
		}
		files = append(files, got...)
		below, err := os.ReadDir(filepath.Join(dest, "out"))
		if err != nil {
			return nil, err
		}
		took = took || len(below) > 0
	}
	// The daemon's cache looks at them, before anything is copied.
	if len(c.RequiredPaths) > 0 && !took {
		return nil, fmt.Errorf("%q is not found", c.RequiredPaths)
	}
	return files, nil
}

// contents are those of all regular files below a path.
func contents(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, e gofs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		files = append(files, string(content))
		return err
	})
	return files, err
}

// normalize gives references the form in which BuildKit asks for them.
func normalize(t *testing.T, refs []string) []string {
	t.Helper()
	var list []string
	for _, ref := range refs {
		named, err := reference.ParseNormalizedNamed(ref)
		if err != nil {
			list = append(list, strings.ToUpper("invalid ")+ref)
			continue
		}
		list = append(list, reference.TagNameOnly(named).String())
	}
	slices.Sort(list)
	return slices.Compact(list)
}
