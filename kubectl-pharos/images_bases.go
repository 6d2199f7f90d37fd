package main

import (
	"context"
	"fmt"
	"time"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle/lock"
)

// movedBases asks registries for every locked reference, and finds those that lead
// to another image than the lock says.
func (o *imagesOptions) movedBases(ctx context.Context, tree source.Tree) ([]catalogue.Finding, error) {
	resolver, err := o.resolver(ctx, tree, nil)
	if err != nil {
		return nil, err
	}
	asked := &counter{w: o.ErrOut, what: "asking registries"}
	report, err := lock.Compare(ctx, tree, lock.Options{Resolver: resolver, All: true, Timeout: time.Minute, Progress: asked.count})
	asked.clear()
	if err != nil {
		return nil, err
	}
	var findings []catalogue.Finding
	for _, e := range report.Entries {
		if e.State != lock.Moved {
			continue
		}
		for _, image := range e.Images {
			findings = append(findings, catalogue.Finding{Image: image, Path: catalogue.LockFileName, Message: fmt.Sprintf(
				"%s has moved from %s to %s: to build on that, kubectl pharos lock --update %s", e.Reference, e.Previous, e.Digest, e.Reference)})
		}
	}
	return findings, nil
}
