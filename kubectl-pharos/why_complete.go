package main

import (
	"context"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
)

func (s *shared) completeImages(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	_, commit, err := s.commit(cmd.Context(), "")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	c, err := catalogue.Load(cmd.Context(), commit.Tree)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, image := range c.Images {
		names = append(names, image.Name+"\tbuilt by "+image.Build.Kind())
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeSides offers what --from and --to of why take.
func (s *shared) completeSides(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	found := []string{sideReceipt + "\tthe target's live receipt", sideWorktree + "\twhat lies in the working tree"}
	revisions, directive := s.completeRevisions(cmd, nil, begun)
	return slices.Concat(found, revisions, s.recorded(cmd.Context(), begun, anyReceipt)), directive
}

// completeRevisions offers HEAD, branches and tags.
func (s *shared) completeRevisions(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return append([]string{"HEAD"}, s.references(cmd.Context())...), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// references asks git, since completion is only a courtesy.
func (s *shared) references(ctx context.Context) []string {
	repo, err := source.Open(s.repo)
	if err != nil {
		return nil
	}
	out, err := exec.CommandContext(ctx, "git", "-C", repo.Root(), "for-each-ref", "--format=%(refname:short)", "--sort=-creatordate", "refs/heads", "refs/tags", "refs/remotes").Output()
	if err != nil {
		return nil
	}
	return strings.Fields(string(out))
}
