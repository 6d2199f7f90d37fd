package job

import (
	"errors"
	"strconv"
	"strings"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
)

var (
	// failedStep begins what buildctl repeats of the step that failed:
	// " > [build 2/4] RUN make:", between two rules of hyphens.
	failedStep = lazyregexp.New(`^ > (.+?):?$`)
	// failedAt is where in the Dockerfile, followed by an excerpt between rules.
	failedAt = lazyregexp.New(`^(\S.*):([0-9]+)$`)
)

const (
	stepRule    = "------"
	excerptRule = "--------------------"
	errorPrefix = "error: "
)

var (
	// stepFailed is the line that says of a step that it failed.
	stepFailed = lazyregexp.New(`^#([0-9]+) ERROR: `)
	// stepPrinted begins a line that a step printed: its number, and how many
	// seconds it had run.
	stepPrinted = lazyregexp.New(`^#([0-9]+) [0-9]+\.[0-9]{1,3} `)
)

// printedBy returns what the step that failed printed. buildctl repeats it as well,
// but not all of it.
func printedBy(lines []string) string {
	failed := ""
	for _, line := range lines {
		if m := stepFailed.FindStringSubmatch(line); m != nil {
			failed = m[1]
			break
		}
	}
	var output strings.Builder
	for _, line := range lines {
		if m := stepPrinted.FindStringSubmatch(line); m != nil && m[1] == failed {
			output.WriteString(line[len(m[0]):] + "\n")
		}
	}
	return output.String()
}

// parseFailure reads the end of what buildctl --progress=plain printed of a build
// that failed.
func parseFailure(printed string) *dockerfile.SolveError {
	failed := &dockerfile.SolveError{}
	lines := strings.Split(strings.TrimRight(printed, "\n"), "\n")
	said := ""
	for i := 0; i < len(lines); i++ {
		switch line := lines[i]; {
		case line == stepRule && i+1 < len(lines) && failedStep.MatchString(lines[i+1]):
			failed.Step = failedStep.FindStringSubmatch(lines[i+1])[1]
			end := i + 2
			for end < len(lines) && lines[end] != stepRule {
				end++
			}
			failed.Output = strings.Join(lines[i+2:end], "\n")
			i = end
		case i+1 < len(lines) && lines[i+1] == excerptRule && failedAt.MatchString(line):
			at := failedAt.FindStringSubmatch(line)
			failed.File = at[1]
			failed.Line, _ = strconv.Atoi(at[2]) // at most what fits: what does not is no line
		case strings.HasPrefix(line, errorPrefix):
			// The message may have several lines; it is the last that is printed.
			said = strings.Join(lines[i:], "\n")
		}
	}
	if said == "" {
		said = lastLine(printed)
	}
	if output := printedBy(lines); output != "" {
		failed.Output = output
	}
	if failed.Output == "" {
		failed.Output = strings.Join(lines, "\n")
	}
	failed.Err = errors.New(said)
	return failed
}
