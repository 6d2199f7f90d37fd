package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
)

// fingerprints compares computing all fingerprints of a commit with git listing
// it, in repositories that are made, or in the one that a flag names.
func fingerprints(ctx context.Context, b *bench) ([]comparison, error) {
	plugin, err := b.plugin(ctx)
	if err != nil {
		return nil, err
	}
	if b.repository != "" {
		dir, err := filepath.Abs(b.repository)
		if err != nil {
			return nil, err
		}
		return b.listings(ctx, plugin, filepath.Base(dir), dir)
	}
	packed, long, loose := b.size, b.size, b.size
	long.commits *= 10
	loose.loose = true
	dirs := map[repoSize]string{}
	for _, s := range []repoSize{packed, long, loose} {
		if dirs[s], err = benchRepo(ctx, s, b.progress); err != nil {
			return nil, err
		}
	}
	var cases []comparison
	for _, r := range []struct{ name, dir string }{{"packed", dirs[packed]}, {"loose", dirs[loose]}, {"ten times the commits", dirs[long]}} {
		more, err := b.listings(ctx, plugin, r.name, r.dir)
		if err != nil {
			return nil, err
		}
		cases = append(cases, more...)
	}
	return append(cases, comparison{
		name: "fingerprints, in process",
		ours: inProcess(fmt.Sprintf("%d commits", long.commits), dirs[long]),
		peer: inProcess(fmt.Sprintf("%d commits", packed.commits), dirs[packed]),
	}), nil
}

// listings are the cases of one repository: with nothing kept of earlier commits,
// with what was kept of the one before, and with what was kept of the same one.
func (b *bench) listings(ctx context.Context, plugin, name, dir string) ([]comparison, error) {
	r, err := b.growing(ctx, dir)
	if err != nil {
		return nil, err
	}
	list := side{name: "git ls-tree -r", run: discard("git", "-C", r.dir, "ls-tree", "-r", "HEAD")}
	args := []string{"images", "--repo", r.dir, "--output", "json"}
	images := side{name: "kubectl-pharos images", run: discard(plugin, args...)}
	alone := side{name: "catalogue, cachefile", run: r.states}
	peak := func(ctx context.Context) (string, error) {
		var most int64
		for range coldRounds { // the last of it may be missed
			if err := r.forget(ctx); err != nil {
				return "", err
			}
			peak, err := peakMemory(ctx, plugin, args...)
			if err != nil {
				return "", err
			}
			most = max(most, peak)
		}
		return fmt.Sprintf("peak resident memory %d MiB", most>>20), nil
	}
	name = "fingerprints, " + name
	return []comparison{
		{name: name + ", in process", ours: inProcess("catalogue", r.dir), peer: list},
		{name: name + ", in process, next commit", ours: alone.after(r.commit, emptyHeap), peer: list},
		{name: name + ", in process, same commit", ours: alone.after(emptyHeap), peer: list},
		{name: name + ", nothing kept", ours: images.after(r.forget), peer: list, note: peak},
		{name: name + ", next commit", ours: images.after(r.commit), peer: list},
		{name: name + ", same commit", ours: images, peer: list},
	}, nil
}

// emptyHeap makes the heap as a new process has it.
func emptyHeap(context.Context) error { runtime.GC(); return nil }

// inProcess starts each round as a new process would, with an empty heap.
func inProcess(name, dir string) side {
	return side{
		name:   name,
		before: emptyHeap,
		run: func(ctx context.Context) error {
			_, err := statesOf(ctx, dir)
			return err
		},
	}
}

// statesOf computes the fingerprints of a repository's last commit.
func statesOf(ctx context.Context, dir string) ([]catalogue.State, error) {
	repo, err := source.Open(dir)
	if err != nil {
		return nil, err
	}
	commit, err := repo.Commit(ctx, "HEAD")
	if err != nil {
		return nil, err
	}
	c, err := catalogue.Load(ctx, commit.Tree)
	if err != nil {
		return nil, err
	}
	return c.States(ctx, commit.Tree)
}

// discard runs a program whose output goes nowhere, as to /dev/null in a shell.
func discard(program string, args ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, program, args...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w\n%s", filepath.Base(program), err, stderr.Bytes())
		}
		return nil
	}
}

// peakMemory runs a program and returns the most memory that it had resident, in
// bytes: VmHWM of Linux, looked at until the process ends. What wait4 says of a
// process includes what its parent had when it forked.
func peakMemory(ctx context.Context, program string, args ...string) (int64, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	status := fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)
	for peak := int64(0); ; {
		select {
		case err := <-done:
			return peak, err
		default:
			now, err := highWater(status)
			if err != nil && !errors.Is(err, os.ErrNotExist) && peak == 0 {
				return 0, errors.Join(err, <-done)
			}
			peak = max(peak, now)
		}
	}
}

// highWater returns 0 for a process that has ended.
func highWater(status string) (int64, error) {
	text, err := os.ReadFile(status)
	if err != nil {
		return 0, err
	}
	_, after, _ := bytes.Cut(text, []byte("VmHWM:"))
	size, _, ok := bytes.Cut(after, []byte(" kB"))
	if !ok {
		return 0, nil
	}
	kib, err := strconv.ParseInt(string(bytes.TrimSpace(size)), 10, 64)
	return kib << 10, err
}
