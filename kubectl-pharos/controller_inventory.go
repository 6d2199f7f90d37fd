package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lifecycle/controller"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/reaper/inventory"
)

// inventoryFlags say how often the controller's leader records an inventory.
type inventoryFlags struct{ every time.Duration }

func (i *inventoryFlags) add(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&i.every, "record-inventory", 0, "How often the leader keeps what the inventory of each --watch-target counts, for trends, such as 15m. The default is never")
	_ = cmd.RegisterFlagCompletionFunc("record-inventory", cobra.NoFileCompletions)
}

// configure has the leader record, if the flag says so.
func (i *inventoryFlags) configure(c *controller.Config, cfg *rest.Config, targets []string) error {
	switch {
	case i.every == 0:
		return nil
	case i.every < inventory.MinSampleGap:
		return fmt.Errorf("--record-inventory is %s, and has to be %s or more: samples that are closer are not kept", i.every, inventory.MinSampleGap)
	case len(targets) == 0:
		return errors.New("--record-inventory needs --watch-target: the inventory is that of a target")
	}
	for _, target := range targets {
		namespace, name, err := namespaced("--watch-target", target, "TARGET")
		if err != nil {
			return nil // the watchdog says it
		}
		r := recording{target: standard.Target{Namespace: namespace, Name: name}, options: standard.Options{REST: cfg}, every: i.every, log: c.Log.With("target", target)}
		c.Tasks = append(c.Tasks, controller.Task{Name: "inventory " + target, Run: r.run})
	}
	return nil
}

// recording records the inventories of one target.
type recording struct {
	target  standard.Target
	options standard.Options
	every   time.Duration
	log     *slog.Logger
}

// run records at once and then again and again until ctx ends. What fails is tried at
// the next time: a sample that is missing makes no trend wrong.
func (r recording) run(ctx context.Context) error {
	tick := time.NewTicker(r.every)
	defer tick.Stop()
	for {
		sample, err := standard.RecordInventory(ctx, r.target, r.options)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			r.log.Warn("the inventory could not be recorded", "err", err)
		default:
			total := 0
			for _, n := range sample.Counts {
				total += n
			}
			r.log.Info("recorded the inventory", "transient", total, "resources", len(sample.Counts), "unread", len(sample.Unread))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}
