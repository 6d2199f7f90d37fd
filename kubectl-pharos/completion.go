package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/receipt"
)

// completionScript is what kubectl runs for the completion of kubectl pharos.
const completionScript = "#!/bin/sh\nexec kubectl pharos __complete \"$@\"\n"

func newCompletion(s *shared) *cobra.Command {
	return &cobra.Command{
		Use:   "completion",
		Short: "Print the script through which kubectl completes this plugin",
		Long: `Print the script through which kubectl completes this plugin.

kubectl looks for an executable named kubectl_complete-pharos in the PATH, and
needs its own completion to be set up: kubectl completion --help.`,
		Example: `  # Complete kubectl pharos in every shell in which kubectl completes itself
  kubectl pharos completion >~/.local/bin/kubectl_complete-pharos
  chmod 755 ~/.local/bin/kubectl_complete-pharos`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("one script is for every shell: leave out %q. Write what this prints to kubectl_complete-pharos in a folder of your PATH, executable, and set up kubectl's own completion: kubectl completion --help", args[0])
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			_, err := s.Out.Write([]byte(completionScript))
			return err
		},
	}
}

func (s *shared) completeTargets(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	_, commit, err := s.commit(cmd.Context(), "")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	targets, err := standard.ReadTargets(cmd.Context(), commit.Tree)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, t := range targets {
		names = append(names, t.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeRevision offers revisions for the first argument.
func (s *shared) completeRevision(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.completeRevisions(cmd, args, begun)
}

// completeReceiptsList is completeReceipts for commands that take several.
func (s *shared) completeReceiptsList(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	return s.completeReceipts(cmd, nil, begun)
}

// completeReceipts offers the words, and the receipts with their commits.
func (s *shared) completeReceipts(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	found := []string{"applied\twhat the target was told last", "live\twhat it was last healthy at"}
	return append(found, s.recorded(cmd.Context(), begun, anyReceipt)...), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeRollback offers the receipts that can be rolled back to: those that were
// live and are not applied.
func (s *shared) completeRollback(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.recorded(cmd.Context(), begun, func(r receipt.Summary, p receipt.Pointers) bool {
		return r.ID != p.Applied && r.Result != nil && r.Result.Type == receipt.OutcomeLive
	}), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

func anyReceipt(receipt.Summary, receipt.Pointers) bool { return true }

// recorded offers the wanted receipts with their commits. A cluster that does not
// answer is not waited for: somebody is typing.
func (s *shared) recorded(ctx context.Context, begun string, wanted func(receipt.Summary, receipt.Pointers) bool) (found []string) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	store, err := s.receipts(ctx)
	if err != nil {
		return nil
	}
	summaries, err := store.List(ctx)
	if err != nil {
		return nil
	}
	pointers, err := store.Pointers(ctx)
	if err != nil {
		return nil
	}
	for _, r := range summaries {
		if !wanted(r, pointers) {
			continue
		}
		found = append(found, completedID(r.ID, begun)+"\tcommit "+shortID(r.Commit))
	}
	return found
}

// completedID is the ID in the form that was begun.
func completedID(id receipt.ID, begun string) string {
	switch {
	case strings.HasPrefix(begun, "sha256:"):
		return string(id)
	case len(begun) > len(id.Short()):
		return id.Hex()
	}
	return id.Short()
}
