package catalogue

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
	"github.com/pharos-dev/pharos/internal/strictyaml"
)

var (
	// serviceName is a Service's or namespace's: a label of DNS (RFC 1035, RFC 1123).
	serviceName = lazyregexp.New(`^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$`)
	// serviceAddress is a Service and its port.
	serviceAddress = lazyregexp.New(`^([^:]*):([1-9][0-9]{0,4})$`)
	// moduleName is what python -m runs.
	moduleName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$`)
)

// parseRun reads how an image that is built like that runs.
func parseRun(n strictyaml.Node, build Build) *Run {
	fields := n.Map(RunGo, RunCommand, RunPython, RunNode, "dir", "reload", "env", "set", "envFile", "forwards", "ports", "files")
	run := &Run{
		Dir:     build.runDir(),
		Env:     fields.Optional("env").StringSet(checkEnvPattern),
		Set:     fields.Optional("set").StringMap(checkSet),
		EnvFile: cleanOptional(fields.Optional("envFile").String(checkPath)),
		Ports:   parseRunPorts(fields.Optional("ports")),
		Files:   parseRunFiles(fields.Optional("files")),
	}
	if dir := fields.Optional("dir").String(checkPath); dir != "" {
		run.Dir = path.Clean(dir)
	}
	parseReload(fields.Optional("reload"), run, parseProgram(fields, run, build))
	run.Forwards = parseForwards(fields.Optional("forwards"), run)
	return run
}

// runDir is the folder that an image runs in, if its catalogue does not say.
func (b Build) runDir() string {
	switch {
	case b.Dockerfile != nil:
		return path.Dir(b.Dockerfile.Path)
	case b.Files != nil:
		return b.Files.From
	}
	return "."
}

// parseProgram reads what runs, and returns its kind.
func parseProgram(fields strictyaml.Map, run *Run, build Build) (kind string) {
	kinds := []string{RunGo, RunCommand, RunPython, RunNode}
	if !slices.ContainsFunc(kinds, func(kind string) bool { return fields.Optional(kind).Present() }) {
		return ""
	}
	kind = fields.OneOf(kinds...)
	n := fields.Optional(kind)
	switch kind {
	case RunGo:
		run.Go = &GoRun{Args: n.Map("args").Optional("args").Strings(checkArgument)}
		if build.Kind() != "" && build.Go == nil {
			n.Errorf("needs a build of kind %s, which names the program; write a command instead", BuildGo)
		}
	case RunCommand:
		if run.Command = n.Strings(checkLine); n.Empty() {
			n.Errorf("is empty: name the program and its arguments")
		}
	case RunPython:
		run.Python = &PythonRun{}
		run.Python.Module, run.Python.Script, run.Python.Args = parsePreset(n, "module", checkModuleName, "script", checkPath)
	case RunNode:
		run.Node = &NodeRun{}
		run.Node.Script, run.Node.File, run.Node.Args = parsePreset(n, "script", checkLine, "file", checkPath)
	}
	return kind
}

// parsePreset reads one of two ways to name a program, the second of which is a
// path, and its arguments.
func parsePreset(n strictyaml.Node, name string, check strictyaml.Check, file string, checkFile strictyaml.Check) (named, at string, args []string) {
	fields := n.Map(name, file, "args")
	fields.OneOf(name, file)
	return fields.Optional(name).String(check), cleanOptional(fields.Optional(file).String(checkFile)), fields.Optional("args").Strings(checkArgument)
}

// parseReload reads how a program of that kind takes up changes.
func parseReload(n strictyaml.Node, run *Run, kind string) {
	reload := Reload(n.String(strictyaml.OneOf(string(ReloadRestart), string(ReloadSignal), string(ReloadSelf))))
	switch {
	case n.Present() && kind == RunGo:
		n.Errorf("is not for a Go program, which is always built and restarted")
	case n.Present() && kind == "":
		n.Errorf("is for a program that is named: by %s, %s or %s", RunCommand, RunPython, RunNode)
	case n.Present():
		run.Reload = reload
	case kind == RunNode && run.Node.Script != "":
		run.Reload = ReloadSelf
	case kind == RunCommand || kind == RunPython || kind == RunNode:
		run.Reload = ReloadRestart
	}
}

// parseForwards reads the Services that the process reaches. The variables that
// they name have to be among those that the process gets.
func parseForwards(n strictyaml.Node, run *Run) []RunForward {
	services, locals := taken{}, taken{}
	variable := func(name string) error {
		if _, set := run.Set[name]; set || run.EnvFile != "" || run.Allows(name) {
			return nil
		}
		return fmt.Errorf("is %q, which does not reach the process: list it in env", name)
	}
	var list []RunForward
	for _, item := range n.List() {
		fields := item.Map("service", "namespace", "local", "env")
		f := RunForward{
			Namespace: fields.Optional("namespace").String(checkServiceName),
			Local:     parsePort(fields.Optional("local")),
			Env:       parseNames(fields.Optional("env"), checkVariable, variable),
		}
		service := fields.Required("service")
		f.Service, f.Port = splitService(service.String(checkService))
		if f.Service != "" {
			services.add(service, f.Address())
		}
		if f.Local != 0 {
			locals.add(fields.Optional("local"), fmt.Sprint(f.Local))
		}
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b RunForward) int { return strings.Compare(a.Address(), b.Address()) })
	return list
}

func parseRunPorts(n strictyaml.Node) []RunPort {
	ports, locals := taken{}, taken{}
	var list []RunPort
	for _, item := range n.List() {
		fields := item.Map("port", "local", "env")
		port, local := fields.Required("port"), fields.Required("local")
		p := RunPort{Port: parsePort(port), Local: parsePort(local), Env: parseNames(fields.Optional("env"), checkVariable)}
		if p.Port != 0 {
			ports.add(port, fmt.Sprint(p.Port))
		}
		if p.Local != 0 {
			locals.add(local, fmt.Sprint(p.Local))
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b RunPort) int { return cmp.Compare(a.Port, b.Port) })
	return list
}

// parseRunFiles reads a list of paths, each alone or with the variables that tell
// where it is.
func parseRunFiles(n strictyaml.Node) []RunFiles {
	paths := taken{}
	var list []RunFiles
	for _, item := range n.List() {
		var f RunFiles
		at := item
		if !item.IsString() {
			fields := item.Map("path", "env")
			at = fields.Required("path")
			f.Env = parseNames(fields.Optional("env"), checkVariable)
		}
		if p := at.String(checkImagePath, checkMounted); p != "" {
			f.Path = path.Clean(p)
			paths.add(at, f.Path)
		}
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b RunFiles) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// parseNames reads one name or a list of names.
func parseNames(n strictyaml.Node, checks ...strictyaml.Check) []string {
	if !n.IsString() {
		return n.StringSet(checks...)
	}
	if name := n.String(checks...); name != "" {
		return []string{name}
	}
	return nil
}

// cleanOptional cleans a path that may be missing.
func cleanOptional(p string) string {
	if p == "" {
		return ""
	}
	return path.Clean(p)
}

// taken are values that only one item may have.
type taken map[string]bool

func (t taken) add(n strictyaml.Node, value string) {
	if t[value] {
		n.Errorf("is %s, which another item has", value)
	}
	t[value] = true
}

// parsePort reads the number of a port.
func parsePort(n strictyaml.Node) uint16 {
	const lowest, highest = 1, math.MaxUint16
	return uint16(n.Int(lowest, highest))
}

// splitService takes apart what checkService accepts.
func splitService(s string) (name string, port uint16) {
	parts := serviceAddress.FindStringSubmatch(s)
	if parts == nil {
		return "", 0
	}
	n, err := strconv.ParseUint(parts[2], 10, 16)
	if err != nil {
		return "", 0
	}
	return parts[1], uint16(n)
}

func checkService(s string) error {
	parts := serviceAddress.FindStringSubmatch(s)
	if parts == nil {
		return fmt.Errorf("is %q, and must be a Service and one of its port numbers, such as postgres:5432", s)
	}
	if strings.Contains(parts[1], ".") {
		return fmt.Errorf("is %q, and must be the Service's name alone: write its namespace in the field namespace", s)
	}
	if _, port := splitService(s); port == 0 {
		return fmt.Errorf("is %q, and a port is at most 65535", s)
	}
	return checkServiceName(parts[1])
}

func checkServiceName(s string) error {
	if !serviceName.MatchString(s) {
		return fmt.Errorf("is %q, and must have lower-case letters, digits and '-' only, at most 63", s)
	}
	return nil
}

func checkModuleName(s string) error {
	if !moduleName.MatchString(s) {
		return fmt.Errorf("is %q, and must be the name of a module, such as shop.main", s)
	}
	return nil
}

// checkArgument accepts any argument of a program but what none can be.
func checkArgument(s string) error {
	if strings.Contains(s, "\x00") {
		return errors.New("has a zero byte")
	}
	return nil
}

func checkVariable(s string) error {
	if !identifier.MatchString(s) {
		return fmt.Errorf("is %q, and must be the name of an environment variable", s)
	}
	return nil
}

func checkSet(key, value string) error {
	switch {
	case !identifier.MatchString(key):
		return errors.New("is no name of an environment variable")
	case SecretName(key):
		return errors.New("looks like a secret, and this file is no place for one: put it into the file that envFile names, and keep that out of Git")
	}
	return checkArgument(value)
}

// checkMounted refuses what would be all of a container's files.
func checkMounted(s string) error {
	if path.Clean(s) == "/" {
		return errors.New("is all of the container: name the folder that something is mounted to")
	}
	return nil
}
