package gocommand

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// environment holds variables by name. On Windows names are compared without
// case, so they are kept in upper case there.
type environment map[string]string

func newEnvironment(list []string) environment {
	env := make(environment, len(list))
	for _, kv := range list {
		// Windows has hidden variables that begin with "=".
		if i := strings.Index(strings.TrimPrefix(kv, "="), "="); i >= 0 {
			i += len(kv) - len(strings.TrimPrefix(kv, "="))
			env.set(kv[:i], kv[i+1:])
		}
	}
	return env
}

func (e environment) set(name, value string) {
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name)
	}
	e[name] = value
}

func (e environment) list() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(e)) {
		list = append(list, name+"="+e[name])
	}
	return list
}

func (e environment) tempDir() string {
	names := []string{"TMPDIR"}
	fallback := "/tmp"
	if runtime.GOOS == "windows" {
		names, fallback = []string{"TMP", "TEMP", "USERPROFILE"}, `C:\Windows\Temp`
	}
	for _, name := range names {
		if dir := e[name]; dir != "" {
			return dir
		}
	}
	return fallback
}

// lookPath is exec.LookPath by this environment. As there, what a relative
// folder on PATH holds is not run.
func (e environment) lookPath(program string) (string, error) {
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	for _, dir := range filepath.SplitList(e["PATH"]) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(dir, program)
		info, err := os.Stat(file)
		if err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0) {
			return file, nil
		}
	}
	return "", fmt.Errorf("%w on PATH: install Go (https://go.dev/dl), or add its folder to PATH", ErrNotFound)
}

// decides says whether a variable has a say in what the go command chooses or
// builds. Such a variable comes from the caller or from nowhere.
func decides(name string) bool {
	if strings.HasPrefix(name, "CGO_") {
		return true
	}
	switch name {
	case "GOFLAGS", "GOENV", "GOWORK", "GOTOOLCHAIN", "GO111MODULE", "GOROOT", "GOTOOLDIR", "GOTMPDIR", "GOBIN",
		"GOOS", "GOARCH", "GO386", "GOAMD64", "GOARM", "GOARM64", "GOMIPS", "GOMIPS64", "GOPPC64", "GORISCV64", "GOWASM",
		"GOEXPERIMENT", "GOFIPS140", "GODEBUG", "GO_EXTLINK_ENABLED", "GO_LDSO",
		"CC", "CXX", "FC", "AR", "PKG_CONFIG", "GCCGO", "GOGCCFLAGS", "PWD":
		return true
	}
	return false
}

// forUser is the user's environment without what decides.
func (e environment) forUser() environment {
	env := maps.Clone(e)
	maps.DeleteFunc(env, func(name, _ string) bool { return decides(name) })
	return env
}

// fixed are the least variant of every architecture, as the go command has it by
// default, and what has to have one value everywhere.
func fixed() map[string]string {
	return map[string]string{
		"GO386": "sse2", "GOAMD64": "v1", "GOARM": "7", "GOARM64": "v8.0", "GOMIPS": "hardfloat", "GOMIPS64": "hardfloat",
		"GOPPC64": "power8", "GORISCV64": "rva20u64", "GOFIPS140": "off", "CGO_ENABLED": "0",
		"GOENV": "off", "GOFLAGS": "", "GO111MODULE": "on", "GOWORK": "off", "GOTOOLCHAIN": "local",
	}
}
