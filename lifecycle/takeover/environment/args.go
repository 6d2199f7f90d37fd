package environment

import (
	"context"
	"errors"
	"fmt"
)

// errSecretArgument is of an argument that refers to a secret.
var errSecretArgument = errors.New("is a secret, and arguments can be seen by every user of this machine: give the program other ones with run.go.args")

// args returns the arguments that the container's program has, as the kubelet
// expands them: what follows the program in the manifest's command, and its args.
func (c *container) args(ctx context.Context) ([]string, error) {
	written := c.spec.Args
	if len(c.spec.Command) > 0 {
		written = append(c.spec.Command[1:len(c.spec.Command):len(c.spec.Command)], c.spec.Args...)
	}
	args := []string{}
	var errs []error
	for i, text := range written {
		expanded, err := expand(text, func(name string) (string, bool, error) {
			v, ok, err := c.lookup(ctx, name, len(c.spec.Env))
			if err == nil && !ok {
				v, ok, err = c.link(ctx, name)
			}
			if err == nil && isSecret(name, v) {
				err = fmt.Errorf("variable %s (%s): %w", name, v.from, errSecretArgument)
			}
			return v.text, ok, err
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("argument %d of the container: %w", i+1, err))
		}
		args = append(args, expanded)
	}
	return args, errors.Join(errs...)
}
