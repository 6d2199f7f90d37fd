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

// Environment holds variables by name. On Windows names are compared without
// case, so they are kept in upper case there.
type Environment map[string]string

// NewEnvironment takes variables as "NAME=value". If a name appears twice, the
// last one counts.
func NewEnvironment(list []string) Environment {
	env := make(Environment, len(list))
	env.SetAll(list...)
	return env
}

// Set sets a variable.
func (e Environment) Set(name, value string) {
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name)
	}
	e[name] = value
}

// SetAll sets variables that are given as "NAME=value".
func (e Environment) SetAll(list ...string) {
	for _, kv := range list {
		// Windows has hidden variables that begin with "=".
		if i := strings.Index(strings.TrimPrefix(kv, "="), "="); i >= 0 {
			i += len(kv) - len(strings.TrimPrefix(kv, "="))
			e.Set(kv[:i], kv[i+1:])
		}
	}
}

// SetMap sets variables by name.
func (e Environment) SetMap(settings map[string]string) {
	for name, value := range settings {
		e.Set(name, value)
	}
}

// List returns the variables as "NAME=value", sorted.
func (e Environment) List() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(e)) {
		list = append(list, name+"="+e[name])
	}
	return list
}

// TempDir is where the environment has temporary files.
func (e Environment) TempDir() string {
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

// Find finds the go command on the environment's PATH. As in exec.LookPath, what
// a relative folder there holds is not run. The error matches ErrNotFound.
func (e Environment) Find() (string, error) {
	program := "go"
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
// builds. Such a variable comes from the caller or from nowhere: the machine's
// would reach the result unseen.
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

// User is the environment without what decides which files and programs result.
func (e Environment) User() Environment {
	env := maps.Clone(e)
	maps.DeleteFunc(env, func(name, _ string) bool { return decides(name) })
	return env
}

// Fixed are the least variant of every architecture, as the go command has it by
// default, and what has to have one value everywhere.
func Fixed() map[string]string {
	return map[string]string{
		"GO386": "sse2", "GOAMD64": "v1", "GOARM": "7", "GOARM64": "v8.0", "GOMIPS": "hardfloat", "GOMIPS64": "hardfloat",
		"GOPPC64": "power8", "GORISCV64": "rva20u64", "GOFIPS140": "off", "CGO_ENABLED": "0",
		"GOENV": "off", "GOFLAGS": "", "GO111MODULE": "on", "GOWORK": "off", "GOTOOLCHAIN": "local",
	}
}

// Platform is what the go command is told of the platform that it builds for:
// its operating system, architecture, and the variant as OCI images have it
// ("v3", "v7"), which may be empty. The settings for variants are listed at
// https://go.dev/doc/install/source#environment.
func Platform(system, architecture, variant string) map[string]string {
	settings := map[string]string{"GOOS": system, "GOARCH": architecture}
	switch {
	case variant == "":
	case architecture == "amd64":
		settings["GOAMD64"] = variant
	case architecture == "arm":
		settings["GOARM"] = strings.TrimPrefix(variant, "v")
	}
	return settings
}
