package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// findReceipt resolves a word, an ID or the first digits of one.
func findReceipt(ctx context.Context, store receipt.Store, name string) (receipt.ID, error) {
	if id, err := receipt.ParseID(name); err == nil {
		return id, nil
	}
	if name == "applied" || name == "live" {
		return pointedBy(ctx, store, name)
	}
	summaries, err := store.List(ctx)
	if err != nil {
		return "", lifecycle.TargetError(err)
	}
	var found []receipt.ID
	for _, s := range summaries {
		if strings.HasPrefix(s.ID.Hex(), strings.TrimPrefix(name, "sha256:")) {
			found = append(found, s.ID)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("no receipt begins with %q: see kubectl pharos receipts list", name)
	case 1:
		return found[0], nil
	}
	var ids []string
	for _, id := range found {
		ids = append(ids, id.Hex())
	}
	return "", fmt.Errorf("%d receipts begin with %q, give more digits:\n  %s", len(found), name, strings.Join(ids, "\n  "))
}

// pointedBy resolves one of the words applied and live, also where the rest of
// the pointers is damaged.
func pointedBy(ctx context.Context, store receipt.Store, name string) (receipt.ID, error) {
	pointers, err := store.Pointers(ctx)
	id := map[string]receipt.ID{"applied": pointers.Applied, "live": pointers.Live}[name]
	if id != "" {
		return id, nil
	}
	if err != nil {
		return "", lifecycle.TargetError(err)
	}
	if pointers.Applied == "" {
		return "", notSo("no receipt is %s yet: kubectl pharos deploy", name)
	}
	return "", notSo("no receipt is %s yet: kubectl pharos reconcile", name)
}

// lost says what a target's pointers and its list of receipts do not tell, and
// should.
func lost(pointers receipt.Pointers, damaged error, summaries []receipt.Summary) (what []string) {
	switch {
	case damaged != nil:
		what = append(what, fmt.Sprintf("what is applied and live cannot be read: %v", damaged))
	case pointers.Version == "" && slices.ContainsFunc(summaries, receipt.Summary.Delivered):
		what = append(what, "what is applied and live is not known: the pointers are gone")
	}
	for _, p := range []struct {
		is string
		id receipt.ID
	}{{"applied", pointers.Applied}, {"live", pointers.Live}} {
		if p.id != "" && !slices.ContainsFunc(summaries, func(s receipt.Summary) bool { return s.ID == p.id }) {
			what = append(what, fmt.Sprintf("the %s receipt %s is gone", p.is, p.id.Short()))
		}
	}
	return what
}
