package ephemeral

import (
	"context"
	"log/slog"
	"math/rand/v2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/sweep"
)

// leftovers are the namespaces that this package made, for whatever process, and that
// are past their end. What cannot be listed is left to others.
func (c *client) leftovers(ctx context.Context, log *slog.Logger) []metav1.PartialObjectMetadata {
	all, err := c.list(ctx)
	if err != nil {
		log.Warn("what earlier tests left behind cannot be looked for", "error", err)
		return nil
	}
	var due []metav1.PartialObjectMetadata
	for _, m := range all {
		o := reaper.ObjectOf("", "Namespace", &m)
		if (reaper.Rules{}).Decide(o, c.clock.Now()).Verdict == reaper.Delete {
			due = append(due, m)
		}
	}
	// Tests that begin together need not all begin with the same one.
	rand.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
	return due
}

// end ends leftovers, each after a fresh look.
func end(ctx context.Context, config *rest.Config, due []metav1.PartialObjectMetadata, log *slog.Logger) {
	config = rest.CopyConfig(config)
	config.WarningHandler = rest.NoWarnings{} // of old versions that only the look into them asks for
	ender, err := sweep.New(sweep.Config{REST: config, Log: log})
	if err != nil {
		log.Warn("what earlier tests left behind cannot be ended", "error", err)
		return
	}
	namespaces := sweep.Resource{Version: "v1", Resource: "namespaces", Kind: "Namespace"}
	for _, m := range due {
		res, err := ender.End(ctx, namespaces, "", m.Name, string(m.UID))
		switch {
		case ctx.Err() != nil:
			log.Warn("what earlier tests left behind was not ended in time", "namespace", m.Name)
			return
		case err != nil:
			log.Warn("a namespace of an earlier test cannot be ended", "namespace", m.Name, "error", err)
		case res.Outcome == sweep.Refused:
			log.Warn("a namespace of an earlier test is not ended", "namespace", m.Name, "reason", res.Decision.Message)
		case res.Outcome == sweep.Deleted:
			log.Info("a namespace of an earlier test was ended", "namespace", m.Name, "owner", res.Object.Annotations[keys.Owner])
		}
	}
}
