package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

type versionFields struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func version() versionFields {
	v := versionFields{Version: "devel", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	return v
}

func (v versionFields) String() string {
	return fmt.Sprintf("kubectl-pharos %s (%s, %s/%s)", v.Version, v.Go, v.OS, v.Arch)
}

// addVersion gives the root command the flag --version. Its short form is
// kubectl's: -v is how much is logged.
func addVersion(cmd *cobra.Command) {
	cmd.Version = version().String()
	cmd.SetVersionTemplate("{{.Version}}\n")
}

func newVersion(s *shared) *cobra.Command {
	var out *output
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this plugin",
		Example: "  kubectl pharos version -o json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := usage(out.check()); err != nil {
				return err
			}
			v := version()
			if out.human() {
				linef(s.Out, "%s", v)
				return nil
			}
			obj, err := newObject("Version", "kubectl-pharos", v)
			if err != nil {
				return err
			}
			return out.print(s.Out, obj)
		},
	}
	out = newOutput(cmd)
	return cmd
}
