package buildcontext

import (
	"fmt"
	"slices"
	"strings"
)

// Text says of a Dockerfile what was found and what to write, without a full stop.
// content is the Dockerfile's.
func (o *Own) Text(file string, content []byte) string {
	lines := strings.Split(string(content), "\n")
	var b strings.Builder
	fmt.Fprintf(&b, "it is written for a build in the folder %s (%s), and the context is the root of the tree: write", o.Dir, o.Why)
	for i, c := range o.Changes {
		if i > 0 {
			b.WriteString(",")
		}
		to, from := c.instruction(lines)
		fmt.Fprintf(&b, " %s instead of %s in line %d", to, from, c.Line)
		if len(c.Both) > 0 {
			fmt.Fprintf(&b, " (the root has %s too, and that would be taken)", strings.Join(c.Both, " and "))
		}
	}
	if o.Ignored != "" {
		fmt.Fprintf(&b, "; %s is not read then: move its rules to %s.dockerignore, with paths from the root", o.Ignored, file)
	}
	return b.String()
}

// instruction is the whole line as it should be and as it is, if it is a plain one;
// else its sources.
func (c *Change) instruction(lines []string) (to, from string) {
	sources := func(list []string) string { return strings.Join(list, " ") }
	if c.Line < 1 || c.Line > len(lines) {
		return sources(c.To), sources(c.From)
	}
	line := strings.TrimSpace(lines[c.Line-1])
	words := strings.Fields(line)
	if len(words) < 3 || strings.ContainsAny(line, "\"\\[$<`") || !slices.Contains([]string{"COPY", "ADD"}, strings.ToUpper(words[0])) {
		return sources(c.To), sources(c.From)
	}
	changed := slices.Clone(words)
	left := len(c.From)
	for i, word := range words[1 : len(words)-1] { // the last one is the destination
		if at := slices.Index(c.From, word); at >= 0 {
			changed[i+1] = c.To[at]
			left--
		}
	}
	if left != 0 {
		return sources(c.To), sources(c.From)
	}
	return "`" + strings.Join(changed, " ") + "`", "`" + strings.Join(words, " ") + "`"
}
