package main

import (
	"flag"
	"fmt"
	"io"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

// klogLevel is the flag -v. The client libraries log with klog, to stderr:
// without the flag all of it is discarded, since whatever matters comes back as
// an error too.
type klogLevel struct{ flags *flag.FlagSet }

func addKlog(flags *pflag.FlagSet) {
	l := &klogLevel{flags: flag.NewFlagSet("klog", flag.ContinueOnError)}
	klog.InitFlags(l.flags)
	_ = l.flags.Set("logtostderr", "false")
	_ = l.flags.Set("stderrthreshold", "FATAL")
	klog.SetOutput(io.Discard)
	flags.VarP(l, "v", "v", "Log what is asked of the API server, as kubectl does: 6 is each request, 8 also what it says")
}

func (l *klogLevel) String() string { return "0" }

func (l *klogLevel) Type() string { return "level" }

// Set shows the logs up to a level.
func (l *klogLevel) Set(level string) error {
	if err := l.flags.Set("v", level); err != nil {
		return fmt.Errorf("must be a number")
	}
	return l.flags.Set("logtostderr", "true")
}
