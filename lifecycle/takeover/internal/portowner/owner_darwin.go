package portowner

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Of names the process that listens on a port, on any address, such as "node
// (process 4711)". It is "" where the system does not say.
func Of(ctx context.Context, port uint16) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/sbin/lsof", "-nP", fmt.Sprintf("-iTCP:%d", port), "-sTCP:LISTEN", "-Fpc")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	var pid, name string // the first of each
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if after, ok := strings.CutPrefix(line, "p"); ok && pid == "" {
			pid = after
		}
		if after, ok := strings.CutPrefix(line, "c"); ok && name == "" {
			name = after
		}
	}
	if pid == "" {
		return ""
	}
	return fmt.Sprintf("%s (process %s)", clean(name), pid)
}
