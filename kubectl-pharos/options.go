package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// kubectlFlag annotates the flags that kubectl's own commands take too.
const kubectlFlag = "kubectl"

// markKubectl annotates all flags of a set, as which it has only kubectl's.
func markKubectl(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) { _ = flags.SetAnnotation(f.Name, kubectlFlag, []string{"true"}) })
}

func fromKubectl(f *pflag.Flag) bool { return f.Annotations[kubectlFlag] != nil }

// shortenHelp keeps kubectl's flags, which are the same for every command, out
// of their help, all but the one that is needed most. They are hidden only while
// it is printed, since what is hidden is not completed.
func shortenHelp(root *cobra.Command) {
	help := root.HelpFunc()
	hide := func(hidden bool) {
		root.PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = hidden && fromKubectl(f) && f.Name != "context" })
	}
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		hide(true)
		defer hide(false)
		help(cmd, args)
		if cmd.Name() != optionsName {
			linef(cmd.OutOrStdout(), "\nUse %q for the flags of kubectl, which every command takes.", root.CommandPath()+" "+optionsName)
		}
	})
}

const optionsName = "options"

func newOptions(s *shared) *cobra.Command {
	return &cobra.Command{
		Use:   optionsName,
		Short: "Print the flags of kubectl, which every command takes",
		Long: `Print the flags of kubectl, which every command takes: how the cluster is reached,
and as whom. They stand behind the plugin's name.`,
		Example: "  kubectl pharos options",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags := pflag.NewFlagSet(optionsName, pflag.ContinueOnError)
			cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
				if fromKubectl(f) {
					flags.AddFlag(f)
				}
			})
			linef(s.Out, "The following flags can be passed to any command:\n\n%s", flags.FlagUsages())
			return nil
		},
	}
}
