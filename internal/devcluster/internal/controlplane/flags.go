package controlplane

import (
	"fmt"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
)

// parse sets a component's options from flags, as its command would.
func parse(component string, sets cliflag.NamedFlagSets, args ...string) error {
	flags := pflag.NewFlagSet(component, pflag.ContinueOnError)
	for _, set := range sets.FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("configure %s: %w", component, err)
	}
	return nil
}
