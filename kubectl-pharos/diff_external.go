package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// external has another program show the differences, which gets two folders. As
// with diff itself, its exit code 1 says that there are some.
func (o *diffOptions) external(ctx context.Context, command string, files []diffFile) (differs bool, err error) {
	words := strings.Fields(command)
	if len(words) == 0 {
		return false, errors.New("KUBECTL_EXTERNAL_DIFF is blank: is a variable not set?")
	}
	if len(files) == 0 {
		return false, nil
	}
	dir, err := os.MkdirTemp("", "pharos-diff-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	live, merged := filepath.Join(dir, "LIVE"), filepath.Join(dir, "MERGED")
	for _, folder := range []string{live, merged} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return false, err
		}
	}
	for _, f := range files {
		for folder, content := range map[string][]byte{live: f.live, merged: f.merged} {
			if content == nil {
				continue
			}
			if err := os.WriteFile(filepath.Join(folder, f.name), content, 0o600); err != nil {
				return false, err
			}
		}
	}
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], live, merged)...)
	cmd.Stdout, cmd.Stderr = o.Out, o.ErrOut
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("run %s, which KUBECTL_EXTERNAL_DIFF names: %w", words[0], err)
	}
	return false, nil
}
