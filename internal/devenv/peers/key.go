package peers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// key is a hash of whatever decides the program's bytes, short enough for a folder's name.
func (p Program) key(ctx context.Context) (string, error) {
	env, err := p.goCommand(ctx, "env", "GOVERSION", "GOOS", "GOARCH", "CGO_ENABLED", "GOAMD64", "GOARM64", "GOEXPERIMENT")
	if err != nil {
		return "", fmt.Errorf("go env: %w: %s", err, strings.TrimSpace(env))
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q\n", env, append(p.buildArgs(), p.Package), p.Env)
	files := []string{"go.mod", "go.sum"}
	if strings.HasPrefix(p.Package, "./") || p.Package == "." {
		sources, err := sources(p.ModuleDir)
		if err != nil {
			return "", err
		}
		files = append(files, sources...)
	}
	for _, name := range files {
		if err := hashFile(h, p.ModuleDir, name); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:20], nil
}

// sources lists the files of the module that a build may read, sorted: all but tests and modules nested in it.
func sources(moduleDir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(moduleDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path == moduleDir {
				return nil
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil || name == "testdata" || strings.HasPrefix(name, ".") {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(moduleDir, path)
		if err != nil {
			return err
		}
		files = append(files, filepath.ToSlash(rel))
		return nil
	})
	return files, err
}

func hashFile(w io.Writer, dir, name string) error {
	f, err := os.Open(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%q %x\n", name, sum.Sum(nil))
	return err
}
