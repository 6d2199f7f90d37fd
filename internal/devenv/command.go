package devenv

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
)

// command has a process obey, once it is ready, and waits for its answer. There is one at a time.
func (p *process) command(ctx context.Context, l *launch, command string) error {
	if _, err := io.WriteString(p.stdin, command+"\n"); err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, l.logTail(""))
	}
	for {
		select {
		case b := <-p.lines:
			var line statusLine
			if err := json.Unmarshal(b, &line); err != nil {
				return fmt.Errorf("%s: %w", command, err)
			}
			switch {
			case line.Command != command:
				// The answer to one whose caller went away.
			case line.Error != "":
				return fmt.Errorf("%s: %s", command, line.Error)
			default:
				return nil
			}
		case <-p.exited:
			return fmt.Errorf("%s: %s has ended: %w: %s", command, l.what(), exitError(p.err), l.logTail(""))
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", command, context.Cause(ctx))
		}
	}
}
