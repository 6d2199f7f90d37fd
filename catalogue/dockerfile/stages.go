package dockerfile

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// From is a FROM instruction that names an image.
type From struct {
	Line  int    // of the instruction, counted from 1
	Image string // the reference, as it is in Plan.Bases
	// Platform is the platform that the stage is for: that of --platform, else
	// Options.Platform. It is empty if only the machine that builds knows it, as
	// for --platform=$BUILDPLATFORM.
	Platform string
}

// stage is a FROM instruction and what follows it.
type stage struct {
	index    int
	name     string // in lower case; "" if it has none
	line     int
	base     *stage // nil if its base is an image
	image    string // if its base is an image
	platform string // that its base is to be for; "" if only the builder knows it
	commands []command
	needed   bool
	err      *refusal    // what is wrong with its FROM instruction
	env      environment // after its last instruction, which the next stage begins with
}

// command is an instruction and its line: of one that ONBUILD has kept for a
// later stage, that of ONBUILD.
type command struct {
	instructions.Command
	line int
}

// define finds what each stage is built on. A stage's name means, in FROM, the
// last stage before it of that name; anything else is an image.
func (p *planner) define(parsed []instructions.Stage) {
	p.byName = map[string]int{}
	for i, from := range parsed {
		s := &stage{index: i, name: from.Name, line: firstLine(from.Location)}
		for _, c := range from.Commands {
			s.commands = append(s.commands, command{Command: c, line: firstLine(c.Location())})
		}
		p.stages = append(p.stages, s)
		name, platform, refused := p.reference(from)
		s.platform = platform
		if refused != nil {
			refused.reason = fmt.Sprintf("FROM %s: %s", from.BaseName, refused.reason)
			s.err = refused
		} else if base, ok := p.byName[name]; ok {
			s.base = p.stages[base]
		} else {
			s.image = name
		}
		if s.name != "" {
			p.byName[s.name] = i
		}
	}
}

// refusal is what is wrong with a FROM instruction.
type refusal struct {
	reason string
	always bool // BuildKit refuses it also where the target does not need the stage
}

// reference is the stage or image that a FROM instruction names, and the platform
// that it asks for.
func (p *planner) reference(from instructions.Stage) (name, platform string, refused *refusal) {
	platform = p.options.Platform
	if from.Platform != "" {
		// A platform that only the builder knows will do: it chooses among the
		// images that a reference stands for, and does not change the reference.
		e, r := p.value(from.Platform)
		if r != nil {
			r.reason = "--platform=" + from.Platform + " " + r.reason
			return "", "", r
		}
		if platform = e.value; e.unknown != "" {
			platform = ""
		}
	}
	e, r := p.value(from.BaseName)
	name = e.value
	if r == nil && e.unknown != "" {
		r = &refusal{reason: e.unknown}
	}
	lower := strings.ToLower(name)
	_, isStage := p.byName[name]
	_, isMeant := p.byName[lower]
	switch err := checkReference(name); {
	case r != nil:
		r.always = r.always || e.unknown == "" && err != nil
		return "", "", r
	case isMeant && !isStage:
		return "", "", &refusal{fmt.Sprintf("is an image for BuildKit: write the stage's name as %s", lower), true}
	case err != nil:
		return "", "", &refusal{fmt.Sprintf("%q %v", name, err), true}
	}
	return name, platform, nil
}

// value expands a word of a FROM instruction.
func (p *planner) value(word string) (expansion, *refusal) {
	e, err := p.expand(word, p.globals)
	if err != nil {
		return e, &refusal{err.Error(), true}
	}
	isBlank := e.value == "" && e.unknown == ""
	for _, name := range e.unset {
		if !isBare(word, name) {
			continue // the word itself says what to do without a value
		}
		if _, given := p.options.Args[name]; given {
			return e, &refusal{fmt.Sprintf("no ARG before the first FROM declares %s, so its value does not count", name), isBlank}
		}
		return e, &refusal{fmt.Sprintf("the argument %s has no value: give it a default in an ARG before the first FROM, or a value in the recipe", name), isBlank}
	}
	if isBlank {
		return e, &refusal{"expands to nothing", true}
	}
	return e, nil
}

// isBare says whether a word uses a name as $name or ${name}, rather than in a
// form such as ${name:-default}.
func isBare(word, name string) bool {
	n := regexp.QuoteMeta(name)
	return regexp.MustCompile(`\$(\{` + n + `\}|` + n + `([^\pL\pN_]|$))`).MatchString(word)
}

// need marks a stage and all that it needs, and gives those built on another the
// instructions that ONBUILD has kept there.
func (p *planner) need(i int) {
	s := p.stages[i]
	if s.needed {
		return
	}
	s.needed = true
	if s.base != nil {
		p.need(s.base.index)
		s.commands = append(p.triggers(s.base), s.commands...)
	}
	for _, c := range s.commands {
		for _, d := range p.dependencies(c) {
			if d.stage != nil && d.err == nil {
				p.need(d.stage.index)
			}
		}
	}
}

// triggers are the instructions that a stage's ONBUILD instructions hold. As in
// BuildKit, they are parsed on their own, without the file's escape directive.
func (p *planner) triggers(s *stage) []command {
	var list []command
	for _, c := range s.commands {
		onbuild, ok := c.Command.(*instructions.OnbuildCommand)
		if !ok {
			continue
		}
		parsed, err := parseTrigger(onbuild.Expression)
		if err != nil {
			p.errorf(c.line, "ONBUILD: %s", p.file.located(err).Reason)
			continue
		}
		list = append(list, command{Command: parsed, line: c.line})
	}
	return list
}

// passedOn returns what a stage's ONBUILD instructions take from images and
// stages where another file is built on it.
func (p *planner) passedOn(s *stage) []Source {
	var list []Source
	for _, c := range s.commands {
		onbuild, ok := c.Command.(*instructions.OnbuildCommand)
		if !ok {
			continue
		}
		trigger, err := parseTrigger(onbuild.Expression)
		if err != nil {
			continue // it is an error where the stage is built on
		}
		if len(p.dependencies(command{Command: trigger, line: c.line})) > 0 {
			list = append(list, Source{Line: c.line, Path: "ONBUILD " + onbuild.Expression, Reason: "takes files from an image or a stage"})
		}
	}
	return list
}

func parseTrigger(expression string) (instructions.Command, error) {
	result, err := parser.Parse(strings.NewReader(expression))
	if err != nil {
		return nil, err
	}
	if len(result.AST.Children) != 1 {
		return nil, fmt.Errorf("holds %d instructions instead of one", len(result.AST.Children))
	}
	parsed, err := instructions.ParseInstructionWithLinter(result.AST.Children[0], silent())
	if err != nil {
		return nil, err
	}
	c, ok := parsed.(instructions.Command)
	if !ok {
		return nil, fmt.Errorf("holds a FROM instruction")
	}
	return c, nil
}
