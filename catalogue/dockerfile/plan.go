package dockerfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Options are what a recipe says about how a Dockerfile is built.
type Options struct {
	// Target is the name of the stage that becomes the image, in any case. The
	// default is the last stage.
	Target string
	// Args are the build arguments by name. As in BuildKit, one counts where an
	// ARG instruction declares it; BUILDKIT_SYNTAX and those that BuildKit sets
	// by itself, such as TARGETARCH, count without.
	Args map[string]string
	// Platform is the platform that the image is for, such as "linux/arm64" or
	// "linux/arm/v7". By default none is known: what depends on TARGETPLATFORM
	// and its parts cannot be told then.
	Platform string
}

// Plan is what a Dockerfile needs for one target, with its arguments expanded.
// It is not modified after it was made and safe for concurrent use.
type Plan struct {
	// Bases are the references of the images that the target is built on, as
	// they are written, but with arguments expanded: those of FROM, COPY --from=
	// and RUN --mount=from=, in the order of their first use, each once. Neither
	// scratch nor stages are among them.
	Bases []string
	// From are the FROM instructions of the stages that the target needs whose
	// base is an image, in their order. Scratch is not among them.
	From []From
	// Frontend is File.Frontend, unless the build argument BUILDKIT_SYNTAX
	// overrides it.
	Frontend string
	// Remote are the sources that ADD fetches, and that neither a checksum nor a
	// commit's ID pins: the same Dockerfile may take something else tomorrow.
	Remote []Source
	// Triggers are the ONBUILD instructions of the target that take files from an
	// image or a stage. Whatever is built on the target runs them, and takes what
	// its own Dockerfile does not name. Path is the instruction.
	Triggers []Source
	// Secrets and SSH are the secrets and SSH agents that RUN mounts, each where
	// an instruction names it, if its id is known.
	Secrets, SSH []Mount

	file    *File
	os      string
	takes   []take
	unknown []Source
	// unknownMounts says that RUN mounts a secret or an SSH agent whose id is not
	// known.
	unknownMounts bool
}

// Mount is a secret or an SSH agent that an instruction mounts.
type Mount struct {
	Line int    // of the instruction, counted from 1
	ID   string // of the secret or the agent, with arguments expanded
}

// TargetError is returned for a target that a Dockerfile does not have.
type TargetError struct {
	Path   string // of the Dockerfile
	Target string
	Stages []string // the names of its stages; BuildKit cannot build one without a name, unless it is the last
}

// Error names the stages that there are.
func (e *TargetError) Error() string {
	if len(e.Stages) == 0 {
		return fmt.Sprintf("%s: has no stage %q: no stage has a name", e.Path, e.Target)
	}
	return fmt.Sprintf("%s: has no stage %q; its stages are %s", e.Path, e.Target, strings.Join(e.Stages, ", "))
}

// Plan says what the target needs, in the way of BuildKit. Only the stages that
// it needs are looked at. The error is a *TargetError or, joined if there are
// several, *ParseError: for a reference whose arguments have no value, depend on
// the machine that builds, or make no reference; for a stage that is used before
// it is defined; for what BuildKit itself would refuse while it expands
// arguments.
func (f *File) Plan(o Options) (*Plan, error) {
	p := &planner{file: f, options: o, used: map[string]bool{}, plan: &Plan{file: f, Frontend: f.Frontend}}
	if syntax, ok := o.Args["BUILDKIT_SYNTAX"]; ok {
		p.plan.Frontend, _, _ = strings.Cut(strings.TrimSpace(syntax), " ")
		if err := checkReference(p.plan.Frontend); err != nil {
			p.errorf(0, "the build argument BUILDKIT_SYNTAX names %q, which %v", p.plan.Frontend, err)
		}
	}
	if err := p.run(); err != nil {
		return nil, err
	}
	if len(p.errs) > 0 {
		return nil, errors.Join(p.errs...)
	}
	return p.plan, nil
}

// planner makes one plan.
type planner struct {
	file    *File
	options Options
	plan    *Plan
	expander
	globals environment // what FROM may use
	stages  []*stage
	byName  map[string]int  // the last stage of each name, in lower case
	used    map[string]bool // images
	ran     int             // instructions
	// patterns is how many bytes the --exclude and --parents patterns have.
	patterns int
	errs     []error
}

func (p *planner) errorf(line int, format string, args ...any) {
	p.errs = append(p.errs, p.file.errorf(line, format, args...))
}

func (p *planner) run() error {
	parsed, args, err := p.file.instructions()
	if err != nil {
		return p.file.located(err)
	}
	p.expander = newExpander(p.file.escape)
	if err := p.declare(args, parsed); err != nil {
		return err
	}
	p.define(parsed)
	target := len(p.stages) - 1
	if name := p.options.Target; name != "" {
		i, ok := p.byName[strings.ToLower(name)]
		if !ok {
			return &TargetError{Path: p.file.Path, Target: name, Stages: p.names()}
		}
		target = i
	}
	if err := p.circular(); err != nil {
		return err
	}
	p.need(target)
	for _, s := range p.stages {
		if s.err != nil && (s.needed || s.err.always) {
			p.errorf(s.line, "%s", s.err.reason)
		}
		if !s.needed {
			p.refuse(s)
			continue
		}
		if p.ran += len(s.commands); p.ran > MaxInstructions {
			return p.file.errorf(s.line, "the target runs more than %d instructions", MaxInstructions)
		}
		p.evaluate(s)
		if s.image != "" && s.image != scratch && s.err == nil {
			p.plan.From = append(p.plan.From, From{Line: s.line, Image: s.image, Platform: s.platform})
		}
	}
	p.plan.Triggers = p.passedOn(p.stages[target])
	return nil
}

// refuse notes what BuildKit refuses in a stage that the target does not need.
func (p *planner) refuse(s *stage) {
	for _, c := range s.commands {
		for _, d := range p.dependencies(c) {
			if d.err != nil {
				p.errorf(c.line, "%s %v", strings.ToUpper(c.Name()), d.err)
			}
		}
	}
}

// names are the stages' names, each once, in their order.
func (p *planner) names() []string {
	var names []string
	for _, s := range p.stages {
		if s.name != "" && !slices.Contains(names, s.name) {
			names = append(names, s.name)
		}
	}
	return names
}

// use notes an image that the target is built on.
func (p *planner) use(image string) {
	if !p.used[image] {
		p.used[image] = true
		p.plan.Bases = append(p.plan.Bases, image)
	}
}
