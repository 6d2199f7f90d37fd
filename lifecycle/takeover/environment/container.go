package environment

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// longestValue is the longest string that Linux starts a process with
// (MAX_ARG_STRLEN, execve(2)): with a longer one the container could not run either.
const longestValue = 128 << 10

var errTooLong = errors.New("becomes longer than any process can be started with (128 KiB)")

// value is what a variable has, and where it comes from.
type value struct {
	text   string
	from   string
	secret bool
	local  bool // written on this machine
}

// container gives the values of a container's variables as the kubelet would, and
// reads for each no more than it depends on.
type container struct {
	Request
	spec     *corev1.Container
	sources  *sources
	declared map[int]*value // what entries of env have; nil where an optional source has nothing
	seen     func(secret string)
}

// lookup returns the value that a variable has for the entry of env at before, or
// for the process if that is behind the last one.
func (c *container) lookup(ctx context.Context, name string, before int) (value, bool, error) {
	for i := before - 1; i >= 0; i-- {
		if c.spec.Env[i].Name != name {
			continue
		}
		v, err := c.entry(ctx, i)
		if err != nil {
			return value{}, false, err
		}
		if v != nil {
			return *v, true, nil
		}
	}
	return c.fromAll(ctx, name)
}

// entry returns the value of an entry of env; nil if an optional source does not
// have it.
func (c *container) entry(ctx context.Context, i int) (*value, error) {
	if v, ok := c.declared[i]; ok {
		return v, nil
	}
	v, err := c.evaluate(ctx, i)
	if err != nil {
		return nil, err
	}
	c.declared[i] = v
	return v, nil
}

func (c *container) evaluate(ctx context.Context, i int) (*value, error) {
	e := c.spec.Env[i]
	fail := func(err error) (*value, error) { return nil, fmt.Errorf("variable %s: %w", e.Name, err) }
	if e.Value != "" || e.ValueFrom == nil {
		v := &value{from: c.declaredFrom(e)}
		text, err := expand(e.Value, func(name string) (string, bool, error) {
			of, ok, err := c.lookup(ctx, name, i)
			if err == nil && !ok {
				of, ok, err = c.link(ctx, name)
			}
			if isSecret(name, of) {
				v.secret = true
				c.seen(of.text)
			}
			return of.text, ok, err
		})
		if err != nil {
			return fail(err)
		}
		v.text = text
		return v, nil
	}
	switch from := e.ValueFrom; {
	case from.ConfigMapKeyRef != nil:
		return c.configMapKey(ctx, e.Name, from.ConfigMapKeyRef)
	case from.SecretKeyRef != nil:
		return c.secretKey(ctx, e.Name, from.SecretKeyRef)
	case from.FieldRef != nil:
		text, err := field(from.FieldRef.FieldPath, &c.Pod, c.Namespace, c.Live)
		if err != nil {
			return fail(err)
		}
		return &value{text: text, from: c.declaredFrom(e)}, nil
	case from.ResourceFieldRef != nil:
		text, err := c.resource(ctx, from.ResourceFieldRef)
		if err != nil {
			return fail(err)
		}
		return &value{text: text, from: c.declaredFrom(e)}, nil
	case from.FileKeyRef != nil:
		return fail(fmt.Errorf("comes from a file that a container of the pod writes, which is not on this machine: give it another value with set or envFile"))
	}
	return &value{from: "the manifest"}, nil
}

func (c *container) configMapKey(ctx context.Context, variable string, ref *corev1.ConfigMapKeySelector) (*value, error) {
	object, err := c.sources.configMap(ctx, c.Namespace, ref.Name)
	if err != nil {
		return nil, fmt.Errorf("variable %s: %w", variable, err)
	}
	if object != nil {
		if text, ok := object.Data[ref.Key]; ok {
			return &value{text: text, from: keyOf("ConfigMap", c.Namespace, ref.Name, ref.Key)}, nil
		}
	}
	return absent(variable, "ConfigMap", named(c.Namespace, ref.Name), ref.Key, object != nil, ref.Optional)
}

func (c *container) secretKey(ctx context.Context, variable string, ref *corev1.SecretKeySelector) (*value, error) {
	object, err := c.sources.secret(ctx, c.Namespace, ref.Name)
	if err != nil {
		return nil, fmt.Errorf("variable %s: %w", variable, err)
	}
	if object != nil {
		if data, ok := object.Data[ref.Key]; ok {
			return &value{text: string(data), from: keyOf("Secret", c.Namespace, ref.Name, ref.Key), secret: true}, nil
		}
	}
	return absent(variable, "Secret", named(c.Namespace, ref.Name), ref.Key, object != nil, ref.Optional)
}

func keyOf(kind, namespace, name, key string) string {
	return fmt.Sprintf("%s %s, key %s", kind, named(namespace, name), key)
}

// absent is what there is of a key that an object does not have, or of an object
// that does not exist.
func absent(variable, kind, object, key string, exists bool, optional *bool) (*value, error) {
	switch {
	case optional != nil && *optional:
		return nil, nil
	case exists:
		return nil, fmt.Errorf("variable %s: %s %s has no key %s", variable, kind, object, key)
	}
	return nil, fmt.Errorf("variable %s: there is no %s %s", variable, kind, object)
}

// resource returns a value of the resources of this container, or of another one
// that is named.
func (c *container) resource(ctx context.Context, of *corev1.ResourceFieldSelector) (string, error) {
	spec := c.spec
	if of.ContainerName != "" {
		if spec = findContainer(&c.Pod.Spec, of.ContainerName); spec == nil {
			return "", fmt.Errorf("the pod has no container %s", of.ContainerName)
		}
	}
	if !needsNode(of, &c.Pod.Spec, spec) {
		return resourceValue(of, &c.Pod.Spec, spec, nil)
	}
	if c.Live == nil || c.Live.Spec.NodeName == "" {
		return "", fmt.Errorf("%s is what the node has, as the container sets none, and no pod of the workload runs", of.Resource)
	}
	node, err := c.sources.node(ctx, c.Live.Spec.NodeName)
	if err != nil {
		return "", err
	}
	if node == nil {
		return "", fmt.Errorf("there is no Node %s", c.Live.Spec.NodeName)
	}
	return resourceValue(of, &c.Pod.Spec, spec, node.Status.Allocatable)
}

// fromAll returns what envFrom has for a variable: of its sources, the last one
// that has it counts.
func (c *container) fromAll(ctx context.Context, name string) (value, bool, error) {
	for i := len(c.spec.EnvFrom) - 1; i >= 0; i-- {
		from := c.spec.EnvFrom[i]
		key, ok := strings.CutPrefix(name, from.Prefix)
		if !ok || key == "" {
			continue
		}
		keys, err := c.keys(ctx, from)
		if err != nil {
			return value{}, false, fmt.Errorf("variable %s: %w", name, err)
		}
		if v, ok := keys[key]; ok {
			return v, true, nil
		}
	}
	return value{}, false, nil
}

// keys returns all that a source of envFrom has, by key.
func (c *container) keys(ctx context.Context, from corev1.EnvFromSource) (map[string]value, error) {
	found := map[string]value{}
	switch {
	case from.ConfigMapRef != nil:
		object, err := c.sources.configMap(ctx, c.Namespace, from.ConfigMapRef.Name)
		if err != nil {
			return nil, err
		}
		if object == nil {
			return found, required("ConfigMap", named(c.Namespace, from.ConfigMapRef.Name), from.ConfigMapRef.Optional)
		}
		for key, text := range object.Data {
			found[key] = value{text: text, from: keyOf("ConfigMap", c.Namespace, object.Name, key)}
		}
	case from.SecretRef != nil:
		object, err := c.sources.secret(ctx, c.Namespace, from.SecretRef.Name)
		if err != nil {
			return nil, err
		}
		if object == nil {
			return found, required("Secret", named(c.Namespace, from.SecretRef.Name), from.SecretRef.Optional)
		}
		for key, data := range object.Data {
			found[key] = value{text: string(data), from: keyOf("Secret", c.Namespace, object.Name, key), secret: true}
		}
	}
	return found, nil
}

func required(kind, object string, optional *bool) error {
	if optional != nil && *optional {
		return nil
	}
	return fmt.Errorf("there is no %s %s", kind, object)
}

// findContainer returns a container of a pod, of its initContainers too.
func findContainer(spec *corev1.PodSpec, name string) *corev1.Container {
	for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// declaredFrom says where an entry of env has its value from.
func (c *container) declaredFrom(e corev1.EnvVar) string {
	switch from := e.ValueFrom; {
	case e.Value != "" || from == nil:
	case from.ConfigMapKeyRef != nil:
		return keyOf("ConfigMap", c.Namespace, from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key)
	case from.SecretKeyRef != nil:
		return keyOf("Secret", c.Namespace, from.SecretKeyRef.Name, from.SecretKeyRef.Key)
	case from.FieldRef != nil:
		return "the pod's " + from.FieldRef.FieldPath
	case from.ResourceFieldRef != nil:
		return "the container's " + from.ResourceFieldRef.Resource
	}
	return "the manifest"
}

// mayHave adds where a pattern of Run.Env, or a name that env does not declare, may
// have its values from: the sources of envFrom.
func (c *container) mayHave(pattern string, have map[string]bool, add func(name, from string)) {
	literal, _, isPattern := strings.Cut(pattern, "*")
	if !isPattern && have[pattern] {
		return
	}
	for _, from := range c.spec.EnvFrom {
		fits := strings.HasPrefix(literal, from.Prefix) || isPattern && strings.HasPrefix(from.Prefix, literal)
		switch {
		case !fits:
		case from.ConfigMapRef != nil:
			add(pattern, "ConfigMap "+named(c.Namespace, from.ConfigMapRef.Name))
		case from.SecretRef != nil:
			add(pattern, "Secret "+named(c.Namespace, from.SecretRef.Name))
		}
	}
}
