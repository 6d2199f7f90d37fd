package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
)

// completeWorkloads offers the Deployments that can be taken over and are not named yet,
// in the form that was begun. A cluster that does not answer is not waited for: somebody
// is typing.
func (s *shared) completeWorkloads(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
	defer cancel()
	return workloadNames(s.runnable(ctx), args, begun), cobra.ShellCompDirectiveNoFileComp
}

// runnable are the Deployments of the target that can be taken over, as far as that can
// be told.
func (s *shared) runnable(ctx context.Context) []types.NamespacedName {
	repo, t, so, err := s.open(ctx)
	if err != nil {
		return nil
	}
	c, err := s.takeoverConfig(repo, t, so, &takeoverFlags{}, nil)
	if err != nil {
		return nil
	}
	facts, err := c.Facts(ctx)
	if err != nil {
		return nil
	}
	return facts.Runnable()
}

// workloadNames are the names of Deployments that begin so: api, deploy/api or shop/api.
// Those that args name already, in whichever form, are left out, and so is what would name
// several.
func workloadNames(all []types.NamespacedName, args []string, begun string) (names []string) {
	count := map[string]int{}
	for _, w := range all {
		count[w.Name]++
	}
	for _, w := range all {
		forms := []string{w.Namespace + "/" + w.Name}
		if count[w.Name] == 1 {
			forms = append([]string{w.Name, "deploy/" + w.Name, "deployment/" + w.Name}, forms...)
		}
		if slices.ContainsFunc(forms, func(form string) bool { return slices.Contains(args, form) }) {
			continue
		}
		for _, form := range forms {
			kind, _, _ := strings.Cut(form, "/")
			if strings.HasPrefix(form, begun) && (begun != "" || kind != "deploy" && kind != "deployment") {
				names = append(names, form)
			}
		}
	}
	return names
}

// completeTaken offers the workloads of the takeover of this checkout.
func (s *shared) completeTaken(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	doc, err := s.journal()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var all []types.NamespacedName
	for _, w := range doc.Workloads {
		all = append(all, types.NamespacedName{Namespace: w.Diversion.Namespace, Name: w.Diversion.Name})
	}
	return workloadNames(all, args, begun), cobra.ShellCompDirectiveNoFileComp
}
