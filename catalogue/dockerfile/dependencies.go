package dockerfile

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
)

// dependency is what an instruction takes files from, other than the context.
type dependency struct {
	stage *stage
	image string // if it is no stage
	err   error  // if it is neither
}

// dependencies are those of one instruction. A stage's name means the last stage
// of that name; COPY takes a stage's number too.
func (p *planner) dependencies(c command) []dependency {
	var list []dependency
	switch c := c.Command.(type) {
	case *instructions.CopyCommand:
		if c.From != "" {
			list = append(list, p.copyFrom(c.From))
		}
	case *instructions.RunCommand:
		for _, m := range instructions.GetMounts(c) {
			if m.From != "" {
				list = append(list, p.named(m.From))
			}
		}
	}
	return list
}

func (p *planner) copyFrom(from string) dependency {
	if e, err := p.expand(from, environment{}); err != nil || e.value != from {
		return dependency{err: fmt.Errorf("--from=%s: arguments are not expanded here: name a stage with FROM, where they are", from)}
	}
	i, err := strconv.Atoi(from)
	if err != nil {
		return p.named(from)
	}
	if i < 0 || i >= len(p.stages) {
		return dependency{err: fmt.Errorf("--from=%s: there are only stages 0 to %d", from, len(p.stages)-1)}
	}
	return dependency{stage: p.stages[i]}
}

func (p *planner) named(from string) dependency {
	if i, ok := p.byName[strings.ToLower(from)]; ok {
		return dependency{stage: p.stages[i]}
	}
	if err := checkReference(from); err != nil {
		return dependency{err: fmt.Errorf("from=%s %w", from, err)}
	}
	return dependency{image: from}
}

// circular says whether a stage, directly or not, takes files from itself.
// BuildKit refuses that whatever the target is, but does not look at what ONBUILD
// adds.
func (p *planner) circular() error {
	const open, done = 1, 2
	state := make([]int, len(p.stages))
	var visit func(s *stage) error
	visit = func(s *stage) error {
		state[s.index] = open
		for _, c := range s.commands {
			for _, d := range p.dependencies(c) {
				if d.stage == nil || state[d.stage.index] == done {
					continue
				}
				if state[d.stage.index] == open {
					return p.file.errorf(c.line, "%s takes files from a stage that is built from its own", strings.ToUpper(c.Name()))
				}
				if err := visit(d.stage); err != nil {
					return err
				}
			}
		}
		state[s.index] = done
		return nil
	}
	for _, s := range p.stages {
		if state[s.index] != done {
			if err := visit(s); err != nil {
				return err
			}
		}
	}
	return nil
}
