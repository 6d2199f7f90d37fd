package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/pharos-dev/pharos/lifecycle"
)

// What is wrong with a command line is told programs as just that, and people where the
// help is.
func TestUsageIsToldAsSuch(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"images --keep 3", "images --check --unused", "images --check --target x", "images --bases", "images --unused --worktree", "images --worktree --rev HEAD", "images --unused --keep 0",
		"images delete --unused --keep 0", "images delete sha256:1", "images delete", "images x",
		"lock --check --update", "lock --check --dry-run", "lock --rev HEAD", "lock --timeout 0s", "lock --insecure-registry a/b", "lock alpine",
		"why", "why a b", "render --digests x", "render --worktree HEAD", "diff a b c",
		"deploy --dry-run=x", "reconcile --dry-run=x", "reconcile --timeout 0s", "reconcile --wait -1s", "reconcile --builds 0", "reconcile --builds x", "reconcile --secret x=1", "rollback a b",
		"receipts show", "lease acquire", "lease acquire --purpose x --mode deliver", "lease acquire --purpose x --exec", "lease acquire --purpose x --timeout 0s", "lease acquire --purpose x --dry-run=x",
		"lease release --timeout 0s", "lease release --dry-run=x", "lease break", "lease break --reason x --dry-run=x", "lease renew x", "lease show x",
		"maintenance on", "maintenance on --reason x --dry-run=x", "maintenance off --dry-run=x",
		"takeover --dry-run=x", "takeover --silence 1s", "takeover --timeout 0s", "takeover --events --detach", "takeover --dry-run --events", "takeover status x",
		"handback --force", "handback --reason x", "handback --force --reason x api", "handback --timeout 0s", "handback --dry-run=x",
		"inventory -A -n x", "inventory --max-ttl 7", "inventory --tier x", "inventory own", "inventory own x/y", "inventory own x --owner ann", "inventory own x/y --owner ann --dry-run=x",
		"touch", "touch x", "touch x/y --dry-run=x", "extend x/y", "extend x/y --for 7", "retain", "retain x",
		"reap x", "reap --dry-run=x", "reap --foreign cat", "reap --deletes-per-second 0", "reap --ask-above x",
		"policy", "policy agents --cpu x", "policy agents --max-ttl soon", "policy agents --resources a.b.c/d",
		"init x", "version x",
	} {
		var out, errOut bytes.Buffer
		words := append(strings.Fields(args), "-o", "json", "--kubeconfig", "none")
		code := run(t.Context(), genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut}, words)
		var f struct {
			Kind string
			failure
		}
		if err := json.Unmarshal(out.Bytes(), &f); err != nil || code != exitUsage || f.Reason != "Usage" || f.ExitCode != exitUsage {
			t.Errorf("%s: exit code %d, %v, told programs %q", args, code, err, out.String())
		}
		if strings.Count(errOut.String(), "\nSee kubectl pharos "+strings.Fields(args)[0]) != 1 || strings.Count(errOut.String(), " --help\n") != 1 {
			t.Errorf("%s: told people %q", args, errOut.String())
		}
	}
}

// What was taken for the name of a workload, and is refused, may have been a subcommand
// that is misspelt. Nothing is guessed where it is not near to one, or not refused.
func TestRefusedNameMayBeACommand(t *testing.T) {
	t.Parallel()
	refused, other := fmt.Errorf("no such workload: %w", lifecycle.ErrBlocked), errors.New("x")
	cmd := &cobra.Command{Use: "takeover"}
	for _, name := range []string{"attach", "logs", "restart", "status"} {
		cmd.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	for _, tc := range []struct {
		args  []string
		err   error
		guess string
	}{
		{[]string{"statsu"}, refused, "\nIf a command was meant: takeover status"},
		{[]string{"log"}, refused, "\nIf a command was meant: takeover logs"},
		{[]string{"storefront"}, refused, ""},
		{nil, refused, ""},
		{[]string{"statsu"}, other, ""},
	} {
		err := meant(cmd, tc.args, tc.err)
		if !errors.Is(err, tc.err) || err.Error() != tc.err.Error()+tc.guess {
			t.Errorf("%q: %v, want %q behind it", tc.args, err, tc.guess)
		}
	}
	if err := meant(cmd, []string{"statsu"}, nil); err != nil {
		t.Error(err)
	}
}
