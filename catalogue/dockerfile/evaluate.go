package dockerfile

import (
	"fmt"
	"maps"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/util/system"
)

// evaluate runs through a stage, to find the values of its variables and what it
// takes from where.
func (p *planner) evaluate(s *stage) {
	env := p.begin(s)
	for _, c := range s.commands {
		for _, d := range p.dependencies(c) {
			switch {
			case d.err != nil:
				p.errorf(c.line, "%s %v", strings.ToUpper(c.Name()), d.err)
			case d.stage != nil && d.stage.index > s.index:
				p.errorf(c.line, "%s takes files from a stage that is defined only in line %d", strings.ToUpper(c.Name()), d.stage.line)
			case d.stage == nil && d.image != scratch:
				p.use(d.image)
			}
		}
		if err := p.step(c, env); err != nil {
			p.errorf(c.line, "%s: %v", strings.ToUpper(c.Name()), err)
		}
	}
	s.env = env
}

// begin is the environment that a stage begins with.
func (p *planner) begin(s *stage) environment {
	switch {
	case s.base != nil:
		p.spent += len(s.base.env.vars)
		return environment{vars: maps.Clone(s.base.env.vars), image: s.base.env.image}
	case s.err != nil:
		return environment{vars: map[string]variable{}, image: "?"}
	case s.image == scratch:
		// BuildKit sets it where the image does not.
		return environment{vars: map[string]variable{"PATH": {value: system.DefaultPathEnv(p.plan.os)}}}
	default:
		p.use(s.image)
		return environment{vars: map[string]variable{}, image: s.image}
	}
}

func (p *planner) step(c command, env environment) error {
	switch i := c.Command.(type) {
	case *instructions.ArgCommand:
		return p.arg(i, env)
	case *instructions.EnvCommand:
		return p.env(i, env)
	case *instructions.CopyCommand:
		if i.From != "" {
			return nil
		}
		return p.copy(c.line, i.SourcePaths, i.ExcludePatterns, i.Parents, env)
	case *instructions.AddCommand:
		return p.add(c.line, i, env)
	case *instructions.RunCommand:
		return p.mounts(c.line, i, env)
	}
	return nil
}

// arg declares arguments in a stage: without a default and a given value, an
// argument has the one from before the first FROM.
func (p *planner) arg(c *instructions.ArgCommand, env environment) error {
	for _, a := range c.Args {
		v, ok, err := p.argument(a, env)
		if err != nil {
			return fmt.Errorf("%s: %w", a.Key, err)
		}
		if !ok {
			v, ok = p.globals.get(a.Key)
		}
		if ok && a.Key != "BUILDKIT_SBOM_SCAN_CONTEXT" && a.Key != "BUILDKIT_SBOM_SCAN_STAGE" {
			env.vars[a.Key] = v
		}
	}
	return nil
}

// env sets variables, all of them expanded with those from before it.
func (p *planner) env(c *instructions.EnvCommand, env environment) error {
	values := make([]variable, len(c.Env))
	for i, kv := range c.Env {
		name, err := p.expand(kv.Key, env)
		if err != nil {
			return err
		}
		value, err := p.expand(kv.Value, env)
		if err != nil {
			return err
		}
		c.Env[i].Key, values[i] = name.value, value.variable
	}
	for i, kv := range c.Env {
		env.vars[kv.Key] = values[i]
	}
	return nil
}
