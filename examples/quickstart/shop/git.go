package shop

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// opened is when the first commit was made, so that a shop with the same content
// has the same commits every time.
var opened = time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC)

// Commit commits everything in the folder.
func (r *Repository) Commit(ctx context.Context, message string) error {
	if _, err := r.git(ctx, "add", "--all"); err != nil {
		return err
	}
	if _, err := r.git(ctx, "commit", "--quiet", "--message", message); err != nil {
		return err
	}
	r.commits++
	return nil
}

// Push makes the last commit the branch main of a Git server's repository.
func (r *Repository) Push(ctx context.Context, url string) error {
	_, err := r.git(ctx, "push", "--quiet", "--", url, "HEAD:refs/heads/main")
	return err
}

// Changed returns the lines that the last commit took away ("-…") and added
// ("+…"), after a line with the name of each file.
func (r *Repository) Changed(ctx context.Context) ([]string, error) {
	out, err := r.git(ctx, "show", "--no-color", "--no-ext-diff", "--format=", "--unified=0", "HEAD")
	if err != nil {
		return nil, err
	}
	var lines []string
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "+++ b/"):
			lines = append(lines, strings.TrimPrefix(line, "+++ b/"))
		case strings.HasPrefix(line, "---") || strings.HasPrefix(line, "+++"):
		case strings.HasPrefix(line, "-") || strings.HasPrefix(line, "+"):
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// git runs git apart from the user's configuration and surroundings, which may
// be a hook of another repository.
func (r *Repository) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.dir
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "GIT_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	when := opened.Add(time.Duration(r.commits) * time.Hour).Format(time.RFC3339)
	cmd.Env = append(cmd.Env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_AUTHOR_DATE="+when,
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com", "GIT_COMMITTER_DATE="+when)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}
