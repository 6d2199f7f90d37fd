package environment

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
)

// Var is a variable of an environment. Its value is shown by Value and by
// Environment.Environ alone: neither printing, nor logging, nor encoding shows it.
type Var struct {
	Name string
	// From says where the value comes from, such as "Secret shop/db, key password".
	From string
	// Secret says that the value is from a Secret, or that its name or form is a
	// secret's.
	Secret bool
	value  hidden
}

// Value returns the variable's value.
func (v Var) Value() string { return v.value.text() }

// shown is all of a variable that anyone may see.
type shown struct {
	Name   string `json:"name"`
	From   string `json:"from"`
	Secret bool   `json:"secret,omitempty"`
}

// String returns the variable's name and where its value comes from.
func (v Var) String() string { return fmt.Sprintf("%s (%s)", v.Name, v.From) }

// Format implements fmt.Formatter, for every verb.
func (v Var) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, v.String()) }

// MarshalJSON implements json.Marshaler: the value is not in it.
func (v Var) MarshalJSON() ([]byte, error) { return json.Marshal(shown{v.Name, v.From, v.Secret}) }

// LogValue implements slog.LogValuer.
func (v Var) LogValue() slog.Value { return slog.StringValue(v.String()) }

// Environment is what a process gets of the workload that it stands in for. Its
// values are in memory only: see Var. It may be used by several goroutines at once.
type Environment struct {
	// Vars are sorted by name.
	Vars []Var
	// Args are the arguments of the manifest, if they were asked for. No secret is
	// among them.
	Args []string
	// Files are the mounted files that were asked for, sorted by path.
	Files []File
	// Missing are names that Run.Env lists and the container has no variable of,
	// sorted.
	Missing []string
	// Notices are what may not work as it does in the cluster.
	Notices []string
	tokens  []tokenFile
	secrets []hidden
}

// Environ returns the variables as os/exec takes them: "NAME=value".
func (e Environment) Environ() []string {
	list := make([]string, len(e.Vars))
	for i, v := range e.Vars {
		list[i] = v.Name + "=" + v.Value()
	}
	return list
}

// Lookup returns the variable of a name.
func (e Environment) Lookup(name string) (Var, bool) {
	i, ok := slices.BinarySearchFunc(e.Vars, name, func(v Var, name string) int { return strings.Compare(v.Name, name) })
	if !ok {
		return Var{}, false
	}
	return e.Vars[i], true
}

// Secrets returns the values that nothing may show, for a Scrubber: those of
// Secrets that were read, of variables and files, and parts of them that are known
// to be secret. Tokens are not among them: see Folder.
func (e Environment) Secrets() []string {
	list := make([]string, len(e.secrets))
	for i, s := range e.secrets {
		list[i] = s.text()
	}
	return list
}

// String names the variables.
func (e Environment) String() string {
	names := make([]string, len(e.Vars))
	for i, v := range e.Vars {
		names[i] = v.Name
	}
	return fmt.Sprintf("%d variables (%s), %d files", len(e.Vars), strings.Join(names, " "), len(e.Files)+len(e.tokens))
}

// Format implements fmt.Formatter, for every verb.
func (e Environment) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, e.String()) }

// LogValue implements slog.LogValuer.
func (e Environment) LogValue() slog.Value { return slog.StringValue(e.String()) }

// MarshalJSON implements json.Marshaler: no value is in it.
func (e Environment) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Vars    []Var    `json:"vars"`
		Args    []string `json:"args,omitempty"`
		Files   []string `json:"files,omitempty"`
		Missing []string `json:"missing,omitempty"`
		Notices []string `json:"notices,omitempty"`
	}{e.Vars, e.Args, e.paths(), e.Missing, e.Notices})
}

// paths are those of all files, in the container.
func (e Environment) paths() []string {
	var list []string
	for _, f := range e.Files {
		list = append(list, f.Path)
	}
	for _, f := range e.tokens {
		list = append(list, f.path)
	}
	slices.Sort(list)
	return list
}
