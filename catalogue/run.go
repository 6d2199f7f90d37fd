package catalogue

import (
	"slices"
	"strconv"
	"strings"
)

// Run says how an image runs on a workstation in place of the workload that uses
// it, and what of the workload's surroundings reaches it there. At most one of Go,
// Command, Python and Node is set; if none is, what runs is found by what the
// image's folder holds.
//
// Nothing of it reaches an image or a fingerprint.
type Run struct {
	Go *GoRun
	// Command is the program and its arguments.
	Command []string
	Python  *PythonRun
	Node    *NodeRun
	// Dir is the folder that the process is started in, from the tree's root. The
	// default is the image's folder: that of its Dockerfile, or of its files; for a Go
	// build it is the tree's root, from which its assets are named.
	Dir string
	// Reload is how the process takes up changes. It is empty for a Go program, which
	// is always built and restarted, and where what runs has to be found first. The
	// default is ReloadSelf for a script of a package.json, and else ReloadRestart.
	Reload Reload
	// Env are the names of the workload's environment variables that reach the
	// process, sorted. "*" in a name stands for any characters. Without one none does.
	Env []string
	// Set are variables that the process gets in any case, before all others.
	Set map[string]string
	// EnvFile is the path, from the tree's root, of a file with variables that the
	// process gets in any case, before those of the workload; "" if there is none.
	EnvFile string
	// Forwards are the Services that the process reaches on the workstation, sorted.
	Forwards []RunForward
	// Ports are the ports that the process listens on, where they differ from the
	// container's, sorted.
	Ports []RunPort
	// Files are the container's mounted files that the process gets, sorted.
	Files []RunFiles
}

// The values of Run.Kind.
const (
	RunGo      = "go"
	RunCommand = "command"
	RunPython  = "python"
	RunNode    = "node"
)

// Kind returns RunGo, RunCommand, RunPython or RunNode, as in pharos.yaml, and ""
// where what runs is to be found.
func (r *Run) Kind() string {
	switch {
	case r.Go != nil:
		return RunGo
	case r.Command != nil:
		return RunCommand
	case r.Python != nil:
		return RunPython
	case r.Node != nil:
		return RunNode
	}
	return ""
}

// GoRun runs the program that the image's build names.
type GoRun struct {
	// Args are the program's arguments. The default, nil, is those that the manifest
	// has.
	Args []string
}

// PythonRun runs a Python program: exactly one of Module and Script is set.
type PythonRun struct {
	// Module is what python -m runs.
	Module string
	// Script is a file's path from Run.Dir.
	Script string
	// Args follow it.
	Args []string
}

// NodeRun runs a program by Node.js: exactly one of Script and File is set.
type NodeRun struct {
	// Script is the name of a script of the package.json in Run.Dir.
	Script string
	// File is a file's path from Run.Dir.
	File string
	// Args follow it.
	Args []string
}

// Reload says how a running process takes up a change of its files.
type Reload string

// The values of Reload.
const (
	ReloadRestart Reload = "restart" // it is ended and started again
	ReloadSignal  Reload = "signal"  // it is sent SIGHUP
	ReloadSelf    Reload = "self"    // it watches its files itself
)

// RunForward is a Service of the cluster that is reached by a port of the
// workstation's loopback address.
type RunForward struct {
	// Service is the Service's name.
	Service string
	// Namespace is the Service's; "" is that of the workload.
	Namespace string
	// Port is the Service's port.
	Port uint16
	// Local is the port on the workstation; 0 is any free one.
	Local uint16
	// Env are the names of the variables whose value has the Service's address, which
	// is replaced by the local one, sorted.
	Env []string
}

// Address returns what names the forward: the Service, the namespace if there is
// one, and the port, such as "postgres:5432" or "postgres.data:5432".
func (f RunForward) Address() string {
	host := f.Service
	if f.Namespace != "" {
		host += "." + f.Namespace
	}
	return host + ":" + strconv.Itoa(int(f.Port))
}

// RunPort is a port that the process listens on in place of one of the
// container's.
type RunPort struct {
	// Port is the container's port.
	Port uint16
	// Local is the port on the workstation.
	Local uint16
	// Env are the names of the variables that tell the process its port, sorted.
	Env []string
}

// RunFiles are mounted files of the container: of a ConfigMap, a Secret, the
// downward API, or a service account's token.
type RunFiles struct {
	// Path is a folder or file in the container, an absolute path.
	Path string
	// Env are the names of the variables that tell the process where it is on the
	// workstation, sorted.
	Env []string
}

// Allows says whether a variable of the workload reaches the process: whether its
// name is, or is matched by, one of Env.
func (r *Run) Allows(name string) bool {
	return slices.ContainsFunc(r.Env, func(pattern string) bool { return matchName(pattern, name) })
}

// matchName says whether a pattern in which "*" stands for any characters is that
// of a name.
func matchName(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok || len(parts) == 1 {
		return ok && rest == ""
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return strings.HasSuffix(rest, parts[last])
}
