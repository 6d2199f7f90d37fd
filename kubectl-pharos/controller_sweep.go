package main

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lifecycle/controller"
	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/sweep"
)

// sweepFlags say what the controller's leader ends.
type sweepFlags struct {
	resources, protected, foreign, unseen []string
	namespace                             string
	notifyBefore                          duration
	events, dryRun                        bool
	rate                                  float64
	parallel                              int
	// given are the names of the flags that are given, but --sweep.
	given func() []string
}

// add adds the flags to the command.
func (s *sweepFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&s.resources, "sweep", nil, "Resources of which the leader deletes what is transient and past its end, such as configmaps or deployments.apps; \"*\" is all that can be but secrets, events and endpoints. The default is none")
	before := names(f)
	f.StringVar(&s.namespace, "sweep-namespace", "", "With --sweep, the only namespace that is swept, itself and what is in it. The default is all of them")
	f.StringSliceVar(&s.protected, "protect-namespace", nil, "With --sweep, a namespace in which nothing ends, besides those of --leader-lease, --watch-target, --argocd-namespace and the system. May be repeated")
	f.StringSliceVar(&s.unseen, "unseen", nil, "With --sweep, resources that the end of a namespace does not look at, such as secrets: nothing of them keeps it")
	f.StringSliceVar(&s.foreign, "foreign", nil, "With --sweep, read the keys of these tools too: "+strings.Join(tools(), ", "))
	f.Var(&s.notifyBefore, "notify-before", "With --sweep, record a warning Event on an object this long before its end, such as 1h. The default is none")
	f.BoolVar(&s.events, "events", true, "With --sweep, record an Event on what is deleted")
	f.Float64Var(&s.rate, "deletes-per-second", sweep.DefaultDeletesPerSecond, "With --sweep, how many objects are deleted a second at most")
	f.IntVar(&s.parallel, "concurrent-deletes", sweep.DefaultConcurrentDeletes, "With --sweep, how many objects are deleted at once")
	f.BoolVar(&s.dryRun, "sweep-dry-run", false, "With --sweep, log what would be deleted, and delete nothing")
	ours := slices.DeleteFunc(names(f), func(name string) bool { return slices.Contains(before, name) })
	s.given = func() (given []string) {
		for _, name := range ours {
			if f.Changed(name) {
				given = append(given, "--"+name)
			}
		}
		return given
	}
	resources := cobra.FixedCompletions(append(sweep.DefaultResources(), sweep.Everything), cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("sweep", resources)
	_ = cmd.RegisterFlagCompletionFunc("unseen", resources)
	_ = cmd.RegisterFlagCompletionFunc("foreign", cobra.FixedCompletions(tools(), cobra.ShellCompDirectiveNoFileComp))
}

// names are those of all flags of a set.
func names(f *pflag.FlagSet) (list []string) {
	f.VisitAll(func(flag *pflag.Flag) { list = append(list, flag.Name) })
	return list
}

func tools() (names []string) {
	for _, f := range reaper.Foreigners {
		names = append(names, string(f))
	}
	return names
}

// configure has the leader sweep, if the flags say so. In the namespaces of homes
// nothing ends.
func (s *sweepFlags) configure(c *controller.Config, cfg *rest.Config, lease string, homes []string, log *slog.Logger) error {
	if len(s.resources) == 0 {
		if given := s.given(); len(given) > 0 {
			return fmt.Errorf("%s without --sweep: nothing is swept then", strings.Join(given, ", "))
		}
		return nil
	}
	var errs []error
	if lease == "" {
		errs = append(errs, errors.New("--sweep needs --leader-lease: only the leader sweeps"))
	}
	if s.rate <= 0 || s.parallel <= 0 {
		errs = append(errs, errors.New("--deletes-per-second and --concurrent-deletes have to be more than 0"))
	}
	rules := reaper.Rules{ProtectedNamespaces: slices.Concat(homes, s.protected)}
	for _, name := range s.foreign {
		if !slices.Contains(tools(), name) {
			errs = append(errs, fmt.Errorf("--foreign knows no %q, only %s", name, strings.Join(tools(), ", ")))
		}
		rules.Foreign = append(rules.Foreign, reaper.Foreign(name))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	e, err := sweep.New(sweep.Config{
		REST: cfg, Rules: rules, DryRun: s.dryRun, DeletesPerSecond: s.rate, ConcurrentDeletes: s.parallel,
		NotifyBefore: time.Duration(s.notifyBefore), Events: s.events, Instance: c.Identity, Unseen: s.unseen, Log: log,
	})
	if err != nil {
		return err
	}
	c.Sweep = &controller.Sweep{Ender: e, SweeperConfig: sweep.SweeperConfig{Resources: s.resources, Namespace: s.namespace}}
	return nil
}
