package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// mayBeEmpty are the flags of which kubectl itself says that empty is a value.
var mayBeEmpty = map[string]bool{"output": true, "template": true}

// checkEmpty refuses what a script passes whose variable is not set. It would be
// taken for the default otherwise, and HEAD be delivered in the place of a
// release, or to the current context in the place of another.
func checkEmpty(cmd *cobra.Command, args []string) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if isEmpty(f.Value) && (!fromKubectl(f) || f.Name == "context") && !mayBeEmpty[f.Name] {
			err = fmt.Errorf("--%s is empty: is a variable not set? Leave the flag out for what it is by default", f.Name)
		}
	})
	for i, arg := range args {
		if arg == "" {
			return fmt.Errorf("argument %d is empty: is a variable not set?", i+1)
		}
	}
	return err
}

// isEmpty says whether a value is, or one of several.
func isEmpty(v pflag.Value) bool {
	if list, ok := v.(pflag.SliceValue); ok {
		return len(list.GetSlice()) == 0 || slices.Contains(list.GetSlice(), "")
	}
	return v.Type() == "string" && v.String() == ""
}
