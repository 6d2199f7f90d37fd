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
// an error too. klog is the process's: commands that run in one process at the same time
// touch it only with the flag.
type klogLevel struct{}

// quietKlog discards what is logged with klog, until the flag is set.
func quietKlog() {
	flags := klogFlags()
	_ = flags.Set("logtostderr", "false")
	_ = flags.Set("one_output", "true")
	_ = flags.Set("stderrthreshold", "FATAL")
	klog.SetOutput(io.Discard)
}

func klogFlags() *flag.FlagSet {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	return flags
}

func addKlog(flags *pflag.FlagSet) {
	flags.VarP(klogLevel{}, "v", "v", "Log what is asked of the API server, as kubectl does: 6 is each request, 8 also what it says")
}

func (klogLevel) String() string { return "0" }

func (klogLevel) Type() string { return "level" }

// Set shows the logs up to a level.
func (klogLevel) Set(level string) error {
	if err := klogFlags().Set("v", level); err != nil {
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
