package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"

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
	_ = l.flags.Set("one_output", "true")
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
	klog.SetOutput(withoutPasswords{os.Stderr})
	return nil
}

// addressPassword is that of an address. In it, what would end it is escaped.
var addressPassword = regexp.MustCompile(`(://[^/?#@:\s]*):[^/?#@\s]*@`)

// withoutPasswords writes whole messages, in which the server's address and
// those that it sends us to may have one.
type withoutPasswords struct{ io.Writer }

func (w withoutPasswords) Write(p []byte) (int, error) {
	if _, err := w.Writer.Write(addressPassword.ReplaceAll(p, []byte("$1:xxxxx@"))); err != nil {
		return 0, err
	}
	return len(p), nil
}
