package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle/controller"
)

// superviseFlags say which workloads the controller's leader restarts within a budget.
type superviseFlags struct {
	namespaces []string
	patience   time.Duration
	// patient says that the patience is given.
	patient func() bool
}

func (s *superviseFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&s.namespaces, "supervise", nil, "Namespaces of which the leader restarts, within a budget, the workloads with the label "+keys.Supervise+"="+keys.SuperviseTrue+". The default is none")
	f.DurationVar(&s.patience, "supervise-patience", 10*time.Minute, "With --supervise, how long a pod may be unready until that is a failure")
	s.patient = func() bool { return f.Changed("supervise-patience") }
	_ = cmd.RegisterFlagCompletionFunc("supervise", cobra.NoFileCompletions)
}

// configure has the leader supervise, if the flags say so: what nobody borrows by the
// leases of the targets.
func (s *superviseFlags) configure(c *controller.Config, cfg *rest.Config, lease string, leases map[string][]controller.Inspecter) error {
	if len(s.namespaces) == 0 {
		if s.patient() {
			return errors.New("--supervise-patience without --supervise: nothing is supervised then")
		}
		return nil
	}
	if lease == "" {
		return errors.New("--supervise needs --leader-lease: only the leader supervises")
	}
	if s.patience <= 0 {
		return fmt.Errorf("--supervise-patience is %s, and has to be more than 0", s.patience)
	}
	t, err := controller.Supervise(controller.SuperviseConfig{REST: cfg, Namespaces: s.namespaces, Patience: s.patience, Leases: leases, Log: c.Log})
	if err != nil {
		return fmt.Errorf("--supervise: %w", err)
	}
	c.Tasks = append(c.Tasks, t)
	return nil
}
