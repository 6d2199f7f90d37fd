package lifecycle

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/receipt"
)

// TestNeeded wants the newest kept, and what is needed by those that the pointers
// name, and what any of these repeats, however old that is.
func TestNeeded(t *testing.T) {
	t.Parallel()
	id := func(n int) receipt.ID { return receipt.ID(fmt.Sprintf("sha256:%064x", n)) }
	span := func(from, to int) (ids []int) {
		for n := from; n <= to; n++ {
			ids = append(ids, n)
		}
		return ids
	}
	for name, tc := range map[string]struct {
		receipts  int // each is the child of the one before it
		rollbacks map[int]int
		pointers  receipt.Pointers
		drop      []int
	}{
		"none":                 {0, nil, receipt.Pointers{}, nil},
		"few":                  {10, nil, receipt.Pointers{Applied: id(10), Live: id(10)}, nil},
		"newest":               {30, nil, receipt.Pointers{}, span(1, 20)},
		"chain of live":        {30, nil, receipt.Pointers{Applied: id(30), Live: id(30)}, span(1, 19)},
		"older is live":        {30, nil, receipt.Pointers{Applied: id(30), Live: id(15)}, append(span(1, 4), span(16, 19)...)},
		"oldest is live":       {15, nil, receipt.Pointers{Applied: id(15), Live: id(1)}, span(2, 4)},
		"many":                 {100, nil, receipt.Pointers{Applied: id(100), Live: id(100)}, span(1, 89)},
		"pointed is gone":      {12, nil, receipt.Pointers{Applied: id(99), Live: id(99)}, span(1, 2)},
		"rollback":             {30, map[int]int{25: 3}, receipt.Pointers{Applied: id(30), Live: id(30)}, append(span(1, 2), span(4, 19)...)},
		"rollback of rollback": {30, map[int]int{25: 3, 3: 1}, receipt.Pointers{Applied: id(30), Live: id(30)}, append(span(2, 2), span(4, 19)...)},
		"rollback in chain":    {30, map[int]int{20: 3}, receipt.Pointers{Applied: id(30), Live: id(30)}, append(span(1, 2), span(4, 19)...)},
		"dropped rollback":     {30, map[int]int{19: 3}, receipt.Pointers{Applied: id(30), Live: id(30)}, span(1, 19)},
		"what it repeats went": {12, map[int]int{12: 99}, receipt.Pointers{Applied: id(12), Live: id(12)}, span(1, 1)},
		"of itself":            {12, map[int]int{12: 12}, receipt.Pointers{Applied: id(12), Live: id(12)}, span(1, 1)},
	} {
		known := map[receipt.ID]link{}
		var newest []receipt.ID
		for n := tc.receipts; n > 0; n-- {
			var l link
			if n > 1 {
				l.parent = id(n - 1)
			}
			if to := tc.rollbacks[n]; to != 0 {
				l.rollbackOf = id(to)
			}
			known[id(n)] = l
			if len(newest) < MinKeep {
				newest = append(newest, id(n))
			}
		}
		is, err := needed(newest, tc.pointers, func(id receipt.ID) (link, error) { return known[id], nil })
		var drop []int
		for n := range tc.receipts {
			if !is[id(n+1)] {
				drop = append(drop, n+1)
			}
		}
		if err != nil || !slices.Equal(drop, tc.drop) {
			t.Errorf("%s: to drop are %v (%v), want %v", name, drop, err, tc.drop)
		}
	}
	away := errors.New("away")
	if _, err := needed([]receipt.ID{id(1)}, receipt.Pointers{}, func(receipt.ID) (link, error) { return link{}, away }); err != away {
		t.Errorf("with a store that is away: %v", err)
	}
}

func TestKeepRefused(t *testing.T) {
	t.Parallel()
	for keep, want := range map[int]bool{-1: true, 0: false, 1: true, MinKeep - 1: true, MinKeep: false} {
		_, err := New(Config{Keep: keep})
		if got := err != nil && strings.Contains(err.Error(), fmt.Sprintf("lifecycle: Config.Keep is %d, and must be at least %d", keep, MinKeep)); got != want {
			t.Errorf("Keep %d: %v", keep, err)
		}
	}
}
