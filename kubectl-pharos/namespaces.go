package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/strictyaml"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/reaper"
)

// wantNamespaces refuses namespaces that do not exist: the API server finds nothing in
// them, as if all were well. Where they may not be read that is said, and no error.
func (s *shared) wantNamespaces(ctx context.Context, config *rest.Config, names []string) error {
	if len(names) == 0 {
		return nil
	}
	c, err := reaper.NewClient(config)
	if err != nil {
		return err
	}
	missing, unknown, err := c.LookForNamespaces(ctx, names...)
	if err != nil {
		return lifecycle.TargetError(err)
	}
	for _, name := range unknown {
		linef(s.ErrOut, "warning: whether there is a namespace %q is not known: it may not be read", name)
	}
	var wrong []error
	for _, name := range missing {
		wrong = append(wrong, fmt.Errorf("there is no namespace %q%s", name, nearNamespaces(ctx, c, name)))
	}
	return usage(wrong...)
}

// nearNamespaces says which namespaces may have been meant, or how to find them.
func nearNamespaces(ctx context.Context, c *reaper.Client, name string) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	const most = 3
	var near []string
	there, _ := c.Namespaces(ctx) // who may not list them is told how to look
	for len(near) < most {
		n := strictyaml.Nearest(name, there)
		if n == "" {
			break
		}
		near = append(near, n)
		there = slices.DeleteFunc(there, func(other string) bool { return other == n })
	}
	if len(near) == 0 {
		return ". See what there is: kubectl get namespaces"
	}
	return "; did you mean " + strings.Join(near, ", or ") + "?"
}
