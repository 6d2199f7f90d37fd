package environment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pharos-dev/pharos/catalogue"
)

// FilesVariable tells a process the folder that its files are in: what was mounted
// to /etc/config is in etc/config below it.
const FilesVariable = "PHAROS_FILES"

// Request says what to resolve.
type Request struct {
	// Namespace is the workload's. Required.
	Namespace string
	// Pod is the template of the workload's pods as it was before anything of it was
	// replaced, or what a pod that runs has of it, with all that admission put there.
	// Required.
	Pod corev1.PodTemplateSpec
	// Container is the name of the container whose environment it is. Required.
	Container string
	// Run says what of it reaches the process.
	Run catalogue.Run
	// Args says that the program takes the manifest's arguments, as a Go program does
	// for which Run has none. The default is that it does not: they are not looked at.
	Args bool
	// Live is one of the workload's pods, for what only a pod has that runs: its name,
	// addresses and node. The default is none; what needs it is an error then.
	Live *corev1.Pod
	// DotEnv is what Run.EnvFile holds, and DotEnvName what it is called in errors. The
	// default is none.
	DotEnv     []byte
	DotEnvName string
	// Addresses are the local addresses of Run.Forwards, "127.0.0.1:15432", by
	// RunForward.Address.
	Addresses map[string]string
	// Folder is where the files will be: Folder.Path of a folder of this package.
	// Required if Run.Files has any.
	Folder string
}

// Resolve returns the environment that the request describes. It reads the objects
// that it depends on, and no others: of a variable that Run.Env does not let through,
// or that Run.Set or the .env file has a value for, nothing is read, unless another
// one refers to it.
//
// The error has everything that is wrong, and no value.
func Resolve(ctx context.Context, r Reader, q Request) (Environment, error) {
	c, err := newContainer(r, q)
	if err != nil {
		return Environment{}, err
	}
	secrets := secretSet{}
	c.seen = secrets.add
	local, err := q.local()
	errs := []error{err}
	values, missing, err := c.allowed(ctx, func(name string) bool { _, ok := local[name]; return ok })
	errs = append(errs, err)
	maps.Copy(values, local)

	e := Environment{Missing: missing}
	for name, v := range values {
		if strings.Contains(v.text, "\x00") {
			errs = append(errs, fmt.Errorf("variable %s (%s): has a zero byte, which no process can be given", name, v.from))
		}
		if v.secret = isSecret(name, v); v.secret {
			secrets.add(v.text) // as it is before an address in it is rewritten
		}
		values[name] = v
	}
	notices, err := rewrite(values, q)
	e.Notices, errs = append(e.Notices, notices...), append(errs, err)
	if q.Args {
		e.Args, err = c.args(ctx)
		errs = append(errs, err)
	}
	files, err := c.files(ctx)
	errs = append(errs, err, tellFiles(values, q, files))
	if err := errors.Join(errs...); err != nil {
		return Environment{}, fmt.Errorf("resolve the environment of container %s in namespace %s: %w", q.Container, q.Namespace, err)
	}

	for _, name := range slices.Sorted(maps.Keys(values)) {
		v := values[name]
		if v.secret {
			secrets.add(v.text)
		}
		e.Vars = append(e.Vars, Var{Name: name, From: v.from, Secret: v.secret, value: hide(v.text)})
	}
	for _, f := range files.files {
		if f.Secret {
			secrets.add(f.data.text())
		}
	}
	e.Files, e.tokens, e.secrets = files.files, files.tokens, secrets.list()
	return e, nil
}

func newContainer(r Reader, q Request) (*container, error) {
	spec := findContainer(&q.Pod.Spec, q.Container)
	if spec == nil {
		return nil, fmt.Errorf("the pod has no container %q", q.Container)
	}
	return &container{Request: q, spec: spec, sources: newSources(r), declared: map[int]*value{}, seen: func(string) {}}, nil
}

// local returns the variables that are set on this machine.
func (q Request) local() (map[string]value, error) {
	values := map[string]value{}
	name := q.DotEnvName
	if name == "" {
		name = q.Run.EnvFile
	}
	settings, err := ParseDotEnv(name, q.DotEnv)
	for _, s := range settings {
		values[s.Name] = value{text: s.Value(), from: name, local: true}
	}
	for name, text := range q.Run.Set {
		values[name] = value{text: text, from: catalogue.FileName + ", run.set", local: true}
	}
	return values, err
}

// allowed returns the variables of the workload that Run.Env lets through, but for
// those that are given otherwise, and the names it lists that there is none of.
func (c *container) allowed(ctx context.Context, given func(name string) bool) (values map[string]value, missing []string, err error) {
	names := map[string]bool{}
	var errs []error
	for _, e := range c.spec.Env {
		names[e.Name] = names[e.Name] || c.Run.Allows(e.Name)
	}
	for _, pattern := range c.Run.Env {
		literal, _, isPattern := strings.Cut(pattern, "*")
		if !isPattern {
			names[pattern] = true
			continue
		}
		for _, from := range c.spec.EnvFrom {
			if !strings.HasPrefix(literal, from.Prefix) && !strings.HasPrefix(from.Prefix, literal) {
				continue // none of its variables can match
			}
			keys, err := c.keys(ctx, from)
			if err != nil {
				errs = append(errs, fmt.Errorf("variables %s: %w", pattern, err))
			}
			for key := range keys {
				names[from.Prefix+key] = names[from.Prefix+key] || c.Run.Allows(from.Prefix+key)
			}
		}
	}
	values = map[string]value{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !names[name] || given(name) {
			continue
		}
		v, ok, err := c.lookup(ctx, name, len(c.spec.Env))
		if err == nil && !ok && slices.Contains(c.Run.Env, name) {
			if v, ok, err = c.link(ctx, name); apierrors.IsForbidden(err) {
				err = nil // the name need not be that of a link
			}
		}
		switch {
		case err != nil:
			errs = append(errs, err)
		case ok:
			values[name] = v
		case slices.Contains(c.Run.Env, name):
			missing = append(missing, name)
		}
	}
	return values, missing, joinOnce(errs)
}

// joinOnce joins errors, of which equal ones count once.
func joinOnce(errs []error) error {
	seen := map[string]bool{}
	return errors.Join(slices.DeleteFunc(slices.Clone(errs), func(err error) bool {
		twice := err == nil || seen[err.Error()]
		if err != nil {
			seen[err.Error()] = true
		}
		return twice
	})...)
}
