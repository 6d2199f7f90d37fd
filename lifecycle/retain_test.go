package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/receipt"
)

// TestDropped wants the newest kept, and what is needed by those that the pointers
// name, however old that is.
func TestDropped(t *testing.T) {
	t.Parallel()
	id := func(n int) receipt.ID { return receipt.ID(fmt.Sprintf("sha256:%064x", n)) }
	// Each receipt is the child of the one before it.
	history := func(n int) (list []receipt.Summary) {
		for i := range n {
			s := receipt.Summary{ID: id(i + 1)}
			if i > 0 {
				s.Parent = id(i)
			}
			list = append(list, s)
		}
		slices.Reverse(list)
		return list
	}
	span := func(from, to int) (ids []receipt.ID) {
		for n := from; n <= to; n++ {
			ids = append(ids, id(n))
		}
		return ids
	}
	damaged := history(30)
	damaged[len(damaged)-1].Err = receipt.ErrCorrupt
	for name, tc := range map[string]struct {
		list     []receipt.Summary
		pointers receipt.Pointers
		want     []receipt.ID
	}{
		"none":            {nil, receipt.Pointers{}, nil},
		"few":             {history(10), receipt.Pointers{Applied: id(10), Live: id(10)}, nil},
		"newest":          {history(30), receipt.Pointers{}, span(1, 20)},
		"chain of live":   {history(30), receipt.Pointers{Applied: id(30), Live: id(30)}, span(1, 19)},
		"older is live":   {history(30), receipt.Pointers{Applied: id(30), Live: id(15)}, append(span(1, 4), span(16, 19)...)},
		"oldest is live":  {history(15), receipt.Pointers{Applied: id(15), Live: id(1)}, span(2, 4)},
		"many":            {history(100), receipt.Pointers{Applied: id(100), Live: id(100)}, span(1, 20)},
		"unreadable":      {damaged, receipt.Pointers{}, span(2, 20)},
		"pointed is gone": {history(12), receipt.Pointers{Applied: id(99), Live: id(99)}, span(1, 2)},
	} {
		got := dropped(tc.list, tc.pointers, MinKeep)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: dropped %v, want %v", name, got, tc.want)
		}
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
