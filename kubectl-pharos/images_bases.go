package main

import (
	"context"
	"fmt"
	"time"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle/lock"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// movedBases asks registries for every locked reference, and finds those that lead
// to another image than the lock says.
func (o *imagesOptions) movedBases(ctx context.Context, tree source.Tree) ([]catalogue.Finding, error) {
	targets, err := standard.ReadTargets(ctx, tree)
	if err != nil {
		return nil, err
	}
	resolver, err := o.resolver(targets, nil)
	if err != nil {
		return nil, err
	}
	asked := &counter{w: o.ErrOut, what: "asking registries"}
	report, err := lock.Compare(ctx, tree, lock.Options{Resolver: resolver, More: standard.LockedReferences(targets), All: true, Timeout: time.Minute, Progress: asked.count})
	asked.clear()
	if err != nil {
		return nil, err
	}
	var findings []catalogue.Finding
	for _, e := range report.Entries {
		if e.State != lock.Moved {
			continue
		}
		moved := fmt.Sprintf("%s has moved from %s to %s: to build on that, kubectl pharos lock --update %s", e.Reference, e.Previous, e.Digest, e.Reference)
		for _, image := range e.Images {
			findings = append(findings, catalogue.Finding{Image: image, Path: catalogue.LockFileName, Message: moved})
		}
		for _, user := range e.Users {
			findings = append(findings, catalogue.Finding{Path: catalogue.LockFileName, Message: user + ": " + moved})
		}
	}
	return findings, nil
}
