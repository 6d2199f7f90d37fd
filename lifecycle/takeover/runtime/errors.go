package runtime

import (
	"fmt"
	"strings"
)

// PortError is a port that somebody else has.
type PortError struct {
	Port uint16
	// Owner names the process that has it, such as "node (process 4711)"; it is empty
	// where the system does not say.
	Owner string
}

func (e *PortError) Error() string {
	owner := e.Owner
	if owner == "" {
		owner = "a process that the system does not name"
	}
	return fmt.Sprintf("port %d of the loopback interface is in use by %s: end it, or give the program another port", e.Port, owner)
}

// Is says that it is ErrPortInUse.
func (e *PortError) Is(target error) bool { return target == ErrPortInUse }

// BuildError is a program that could not be built.
type BuildError struct {
	// Problems are what the build says, at least one.
	Problems []Problem
	// PID is the process that goes on, 0 if none runs.
	PID int
}

func (e *BuildError) Error() string {
	var b strings.Builder
	b.WriteString("it cannot be built:")
	for _, p := range e.Problems {
		b.WriteString("\n  " + p.String())
	}
	if e.PID != 0 {
		fmt.Fprintf(&b, "\nWhat ran before goes on, process %d.", e.PID)
	}
	return b.String()
}

// String is the place, as editors find it, and the message.
func (p Problem) String() string {
	switch {
	case p.File == "":
		return p.Message
	case p.Line == 0:
		return p.File + ": " + p.Message
	case p.Column == 0:
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}
