package golang

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
		i := strings.Index(strings.TrimPrefix(kv, "="), "=")
		if i < 0 {
			continue
		}
		i += len(kv) - len(strings.TrimPrefix(kv, "="))
		env.set(kv[:i], kv[i+1:])
	}
	return env
}

func (e environment) set(name, value string) {
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name)
	}
	e[name] = value
}

func (e environment) setAll(settings ...string) {
	for _, s := range settings {
		if name, value, ok := strings.Cut(s, "="); ok {
			e.set(name, value)
		}
	}
}

func (e environment) list() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(e)) {
		list = append(list, name+"="+e[name])
	}
	return list
}

func (e environment) tempDir() string {
	if runtime.GOOS != "windows" {
		if dir := e["TMPDIR"]; dir != "" {
			return dir
		}
		return "/tmp"
	}
	for _, name := range []string{"TMP", "TEMP", "USERPROFILE"} {
		if dir := e[name]; dir != "" {
			return dir
		}
	}
	return `C:\Windows\Temp`
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
	return "", fmt.Errorf("there is no %s command on PATH", program)
}

// decides says whether a variable has a say in what the Go command builds. Such
// a variable comes from the recipe or from nowhere: the machine's would reach
// the image past its fingerprint.
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

// forUser is the user's environment without what would change the image.
func (e environment) forUser() environment {
	env := maps.Clone(e)
	maps.DeleteFunc(env, func(name, _ string) bool { return decides(name) })
	return env
}

const noCgo = "programs are built without cgo, since the C compiler would be whichever one this machine has: " +
	`set CGO_ENABLED to "0" or not at all, or build the image from a Dockerfile whose base is locked`

// checkRecipeEnv refuses what another field of the recipe is for, and cgo, whose
// compiler and libraries would be whichever the machine has.
func checkRecipeEnv(p *problems, env map[string]string) {
	instead := map[string]string{
		"GOFLAGS": "use ldflags and tags", "GOTOOLCHAIN": "use build.go.toolchain",
		"GOOS": "use platforms", "GOARCH": "use platforms",
		"GOAMD64": "use platforms, such as linux/amd64/v3", "GOARM": "use platforms, such as linux/arm/v6",
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		switch name {
		case "GOFLAGS", "GOTOOLCHAIN", "GOOS", "GOARCH", "GOAMD64", "GOARM":
			p.add("build.go.env.%s is not the recipe's to set: %s", name, instead[name])
		case "GOENV", "GOROOT", "GOTOOLDIR", "GOTMPDIR", "GO111MODULE", "GOBIN", "PWD", "PATH", "HOME", "GOPATH", "GOCACHE", "GOCACHEPROG", "GOMODCACHE":
			p.add("build.go.env.%s is not the recipe's to set: it belongs to the machine", name)
		case "CC", "CXX", "AR", "FC", "LD", "PKG_CONFIG", "GCCGO", "GO_EXTLINK_ENABLED", "GO_LDSO":
			p.add("build.go.env.%s is not the recipe's to set: %s", name, noCgo)
		case "GOWORK":
			if env[name] != "off" {
				p.add(`build.go.env.GOWORK can only be "off": the workspace is the go.work of the tree`)
			}
		default:
			if strings.HasPrefix(name, "CGO_") && (name != "CGO_ENABLED" || env[name] != "0") {
				p.add("build.go.env.%s is %q: %s", name, env[name], noCgo)
			}
		}
	}
}
