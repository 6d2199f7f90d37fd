package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/lifecycle"
)

// Every command that prints for programs tells them of its failure: with the text
// that people get, its class and the exit code.
func TestProgramsAreToldOfFailures(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	seen := 0
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
		if cmd.Flags().Lookup("output") == nil || !cmd.Runnable() {
			return
		}
		path := strings.Fields(cmd.CommandPath())[2:]
		for _, ask := range [][]string{{"-o", "json"}, {"--output=yaml"}, {"--no-such-flag", "-ojson"}} {
			args := slices.Concat(path, ask, []string{"--repo", empty})
			var out, errOut bytes.Buffer
			code := run(t.Context(), genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut}, args)
			if code == exitDone {
				continue // it needs no repository
			}
			seen++
			var f struct {
				APIVersion, Kind string
				Metadata         struct{ Name string }
				failure
			}
			if err := yaml.Unmarshal(out.Bytes(), &f); err != nil || f.APIVersion != apiVersion || f.ExitCode != code || f.Reason == "" {
				t.Errorf("%v: exit code %d, %v in %q", args, code, err, out.String())
			}
			if json.Valid(out.Bytes()) != strings.Contains(ask[len(ask)-1], "json") {
				t.Errorf("%v: prints %q", args, out.String())
			}
			if ask[0] == "--no-such-flag" && f.Reason != "Usage" {
				t.Errorf("%v: the reason is %q", args, f.Reason)
			}
			if f.Metadata.Name == "" {
				t.Errorf("%v: what is printed has no name", args)
			}
			if want := "error: " + f.Error + "\n"; errOut.String() != want {
				t.Errorf("%v: people are told %q, and programs %q", args, errOut.String(), f.Error)
			}
		}
	}
	visit(newRoot(genericiooptions.NewTestIOStreamsDiscard()))
	if seen < 40 {
		t.Errorf("only %d failures were seen", seen)
	}
}

// Who picks fields of a result is not given those of something else.
func TestNothingIsPickedOfAFailure(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"name", "jsonpath={.receipt}", "wide", "nonsense", "go-template={{.kind}}"} {
		var out, errOut bytes.Buffer
		code := run(t.Context(), genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut}, []string{"status", "--repo", t.TempDir(), "-o", format})
		if code == exitDone || out.Len() > 0 || errOut.Len() == 0 {
			t.Errorf("-o %s: exit code %d, %q, %q", format, code, out.String(), errOut.String())
		}
	}
}

func TestFailureOf(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		ctx  context.Context
		err  error
		want failure
	}{
		"none":          {t.Context(), nil, failure{}},
		"an answer":     {t.Context(), errNotSo, failure{"", "Unsatisfied", exitNotSo}},
		"and its text":  {over, notSo("not live"), failure{"not live", "Unsatisfied", exitNotSo}},
		"usage":         {t.Context(), fmt.Errorf("%w: no such flag", errUsage), failure{"usage: no such flag", "Usage", exitUsage}},
		"unexpected":    {t.Context(), errors.New("x"), failure{"x", "Unexpected", exitUsage}},
		"interrupted":   {over, errors.New("x"), failure{"x", "Interrupted", exitInterrupted}},
		"blocked":       {t.Context(), &lifecycle.Error{Op: "a", On: "b", Class: lifecycle.ErrBlocked, Err: errors.New("c")}, failure{"a b: c", "Blocked", exitBlocked}},
		"not reachable": {t.Context(), &lifecycle.Error{Op: "a", On: "b", Class: lifecycle.ErrUnreachable, Err: errors.New("c")}, failure{"a b: c", "Unreachable", exitUnreachable}},
	} {
		if got := failureOf(tc.ctx, tc.err); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

func TestFormatIn(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                          "",
		"status -o json":            "json",
		"status -ojson":             "json",
		"status -o=yaml":            "yaml",
		"--output json status":      "json",
		"--output=name --x":         "name",
		"status -o":                 "",
		"status -- -o json":         "",
		"status --output-other=yes": "",
	} {
		if got := formatIn(strings.Fields(args)); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}
