package dockerfile

import (
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
)

const (
	ofBuilder  = "depends on the machine that builds"
	noPlatform = "depends on the platform, and none is given"
)

// declare sets what FROM may use: the arguments that BuildKit sets, and those
// that are declared before the first FROM.
func (p *planner) declare(args []instructions.ArgCommand, stages []instructions.Stage) error {
	p.globals = environment{vars: map[string]variable{}}
	p.plan.os, _, _ = strings.Cut(p.options.Platform, "/")
	for name, v := range p.builtin(stages[len(stages)-1].Name) {
		if given, ok := p.options.Args[name]; ok {
			v = variable{value: given}
		}
		p.globals.vars[name] = v
	}
	for _, c := range args {
		for _, a := range c.Args {
			v, ok, err := p.argument(a, p.globals)
			if err != nil {
				return p.file.errorf(firstLine(c.Location()), "ARG %s: %v", a.Key, err)
			}
			if ok {
				p.globals.vars[a.Key] = v
			}
		}
	}
	return nil
}

// builtin are the arguments that BuildKit sets by itself.
func (p *planner) builtin(last string) map[string]variable {
	vars := map[string]variable{}
	for _, name := range []string{"BUILDPLATFORM", "BUILDOS", "BUILDOSVERSION", "BUILDARCH", "BUILDVARIANT"} {
		vars[name] = variable{unknown: "uses " + name + ", which " + ofBuilder}
	}
	platform := p.options.Platform
	os, rest, _ := strings.Cut(platform, "/")
	arch, variant, _ := strings.Cut(rest, "/")
	for name, value := range map[string]string{
		"TARGETPLATFORM": platform, "TARGETOS": os, "TARGETOSVERSION": "", "TARGETARCH": arch, "TARGETVARIANT": variant,
	} {
		vars[name] = variable{value: value}
		if platform == "" {
			vars[name] = variable{unknown: "uses " + name + ", which " + noPlatform}
		}
	}
	stage := p.options.Target
	if stage == "" {
		stage = last
	}
	if stage == "" {
		stage = "default"
	}
	vars["TARGETSTAGE"] = variable{value: stage}
	return vars
}

// argument is the value of a declared argument: the one that is given, else its
// default. ok is false if it has none.
func (p *planner) argument(a instructions.KeyValuePairOptional, env environment) (v variable, ok bool, err error) {
	if given, ok := p.options.Args[a.Key]; ok {
		return variable{value: given}, true, nil
	}
	if a.Value == nil {
		return variable{}, false, nil
	}
	e, err := p.expand(*a.Value, env)
	return e.variable, err == nil, err
}
