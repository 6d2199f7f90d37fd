package golang_test

import (
	"archive/zip"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/mod/sumdb/dirhash"

	"github.com/pharos-dev/pharos/internal/exectest"
	"github.com/pharos-dev/pharos/lifecycle/build/golang"
)

// moduleProxy serves example.com/dep@v1.0.0 over HTTPS to one user, and returns
// its address, the lines of go.sum, and how often it was asked by that user.
func moduleProxy(t *testing.T) (server *httptest.Server, sum string, asked *atomic.Int64) {
	t.Helper()
	const mod = "module example.com/dep\n\ngo 1.24\n"
	files := map[string]string{
		"example.com/dep@v1.0.0/go.mod": mod,
		"example.com/dep@v1.0.0/dep.go": "package dep\n\nconst Word = \"downloaded\"\n",
	}
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for name, content := range files {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	hash := func(names []string, content func(string) string) string {
		h, err := dirhash.Hash1(names, func(name string) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(content(name))), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	var names []string
	for name := range files {
		names = append(names, name)
	}
	sum = "example.com/dep v1.0.0 " + hash(names, func(name string) string { return files[name] }) + "\n" +
		"example.com/dep v1.0.0/go.mod " + hash([]string{"go.mod"}, func(string) string { return mod }) + "\n"
	asked = new(atomic.Int64)
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != "ada" || password != "lovelace" {
			w.Header().Set("WWW-Authenticate", "Basic")
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		asked.Add(1)
		switch r.URL.Path {
		case "/example.com/dep/@v/v1.0.0.info":
			fmt.Fprint(w, `{"Version":"v1.0.0"}`)
		case "/example.com/dep/@v/v1.0.0.mod":
			fmt.Fprint(w, mod)
		case "/example.com/dep/@v/v1.0.0.zip":
			_, _ = w.Write(archive.Bytes())
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server, sum, asked
}

// Modules come by way of the user's own configuration of Go: the proxy that "go env
// -w" named, the credentials in the user's .netrc, and the user's module cache.
func TestModulesByTheUsersConfiguration(t *testing.T) {
	t.Parallel()
	server, sum, asked := moduleProxy(t)
	f := newFixture(t)
	home, cache := t.TempDir(), t.TempDir()
	t.Cleanup(func() { // the go command writes what nobody may remove
		_ = filepath.WalkDir(cache, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				err = os.Chmod(path, 0o700)
			}
			return err
		})
	})
	for name, content := range map[string]string{
		".netrc": "machine " + strings.TrimPrefix(server.URL, "https://") + " login ada password lovelace\n",
		"goenv":  "GOPROXY=" + server.URL + "\nGONOSUMDB=*\nGOMODCACHE=" + cache + "\nGOFLAGS=-tags=user\n",
		"ca.pem": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})),
	} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// What says where modules come from in this process's environment is not meant.
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return strings.HasPrefix(name, "GO") && name != "GOCACHE" && name != "GOPATH" || strings.HasSuffix(strings.ToUpper(name), "_PROXY")
	})
	env = append(env, "HOME="+home, "NETRC="+filepath.Join(home, ".netrc"), "GOENV="+filepath.Join(home, "goenv"), "SSL_CERT_FILE="+filepath.Join(home, "ca.pem"))
	if os.Getenv("GOCACHE") == "" {
		userCache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, "GOCACHE="+filepath.Join(userCache, "go-build"))
	}
	b, err := newBuilder(f.temp, env)
	if err != nil {
		t.Fatal(err)
	}
	f.Builder = b
	r := f.request(with(greeting, map[string]string{
		"go.mod":            "module example.com/shop\n\ngo 1.24\n\nrequire example.com/dep v1.0.0\n",
		"go.sum":            sum,
		"cmd/hello/main.go": "package main\n\nimport \"example.com/dep\"\n\nfunc main() { println(dep.Word) }\n",
	}))
	r.State.Image.Platforms = []string{"linux/" + runtime.GOARCH}
	img := platformImage(t, pulled(t, r, f.build(r)), "linux/"+runtime.GOARCH)
	if got := run(t, img); got != "downloaded" {
		t.Errorf("the program says %q", got)
	}
	if asked.Load() == 0 {
		t.Error("the user's proxy was not asked")
	}
	if _, err := os.Stat(filepath.Join(cache, "example.com", "dep@v1.0.0", "dep.go")); err != nil {
		t.Errorf("the module is not in the user's cache: %v", err)
	}

	// What does not match go.sum is built into nothing.
	bad := f.request(with(greeting, map[string]string{
		"go.mod":            "module example.com/shop\n\ngo 1.24\n\nrequire example.com/dep v1.0.0\n",
		"go.sum":            strings.ReplaceAll(sum, "h1:", "h1:AAAA"),
		"cmd/hello/main.go": "package main\n\nimport \"example.com/dep\"\n\nfunc main() { println(dep.Word) }\n",
	}))
	if failed := f.fail(bad); !strings.Contains(failed.Output, "checksum mismatch") {
		t.Errorf("got %v", failed)
	}
}

// A workspace may be vendored as a whole.
func TestVendoredWorkspace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.request(with(workspace, map[string]string{
		"libs/go.mod":                   "module example.com/libs\n\ngo 1.24\n\nrequire example.com/dep v1.0.0\n",
		"libs/words/words.go":           "package words\n\nimport \"example.com/dep\"\n\nconst Hello = dep.Word\n",
		"vendor/modules.txt":            "## workspace\n# example.com/dep v1.0.0\n## explicit; go 1.24\nexample.com/dep\n",
		"vendor/example.com/dep/dep.go": "package dep\n\nconst Word = \"vendored\"\n",
	}))
	r.State.Image.Build.Go.Package = "services/hello/cmd"
	r.State.Image.Platforms = []string{"linux/" + runtime.GOARCH}
	img := platformImage(t, pulled(t, r, f.build(r)), "linux/"+runtime.GOARCH)
	if got := run(t, img); got != "vendored" {
		t.Errorf("the program says %q", got)
	}
}

// All images share a build cache that is none of the user's: what they have in
// common is compiled once, and the user's own cache has none of it.
func TestImagesShareAPrivateCache(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	f := newFixture(t, "GOCACHE="+cache)
	compiles := filepath.Join(t.TempDir(), "compiles")
	script := filepath.Join(t.TempDir(), "tool")
	exectest.Write(t, script, []byte("#!/bin/sh\ncase \"$*\" in *-V=full) ;; */compile*) echo \"$TOOLEXEC_IMPORTPATH\" >>'"+compiles+"';; esac\nexec \"$@\"\n"))
	command := filepath.Join(t.TempDir(), "go")
	exectest.Write(t, command, []byte("#!/bin/sh\n[ \"$1\" = build ] || exec go \"$@\"\nshift\nexec go build -toolexec '"+script+"' \"$@\"\n"))
	reg, err := newRegistry()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // builders of two processes, as it were
		b, err := golang.New(golang.Config{Registry: reg, Env: environ("GOCACHE=" + cache), TempDir: f.temp, Go: command})
		if err != nil {
			t.Fatal(err)
		}
		f.Builder = b
		for _, name := range []string{"one", "two"} {
			r := f.request(with(greeting, map[string]string{"cmd/hello/name.txt": name}))
			r.State.Image.Name, r.Repository = name, f.host+"/dev/"+name
			f.build(r)
		}
	}
	said, err := os.ReadFile(compiles)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for _, pkg := range strings.Fields(string(said)) {
		times[pkg]++
	}
	if times["runtime"] != 1 || times["example.com/shop/lib/words"] != 1 {
		t.Errorf("of four builds, two of which are the same, runtime was compiled %d times, and the library %d", times["runtime"], times["example.com/shop/lib/words"])
	}
	for pkg, n := range times {
		if n > 1 && pkg != "example.com/shop/cmd/hello" {
			t.Errorf("%s was compiled %d times", pkg, n)
		}
	}
	entries, err := os.ReadDir(cache)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == "pharos" {
			continue
		}
		inside, err := filepath.Glob(filepath.Join(cache, e.Name(), "*-[ad]"))
		if err != nil || len(inside) > 0 {
			t.Errorf("the user's cache has %v, %v", inside, err)
		}
	}
}

// Cgo is refused with what to do instead, where a recipe asks for it and where a
// program cannot be built without.
func TestCgoIsRefusedWithAdvice(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	files := with(greeting, map[string]string{
		"lib/c/c.go":        "package c\n\n// int one() { return 1; }\nimport \"C\"\n\nvar One = int(C.one())\n",
		"cmd/hello/main.go": "package main\n\nimport \"example.com/shop/lib/c\"\n\nfunc main() { println(c.One) }\n",
	})
	const advice = "build the image from a Dockerfile whose base is locked"
	failed := f.fail(f.request(files))
	if !strings.Contains(failed.Reason, "lib/c/c.go imports \"C\"") || !strings.Contains(failed.Reason, advice) {
		t.Errorf("got the reason %q", failed.Reason)
	}
	// A program that goes without where it has to is built.
	f.build(f.request(with(files, map[string]string{
		"lib/c/pure.go": "//go:build !cgo\n\npackage c\n\nvar One = 1\n",
	})))
}
