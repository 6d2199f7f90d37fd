package joined_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/pharos-dev/pharos/internal/joined"
)

func TestErrors(t *testing.T) {
	t.Parallel()
	a, b, c := errors.New("a"), errors.New("b"), errors.New("c")
	wrapped := fmt.Errorf("of one: %w", b)
	for name, tc := range map[string]struct {
		err  error
		want []error
	}{
		"nothing":         {nil, nil},
		"one":             {a, []error{a}},
		"several, deeply": {errors.Join(a, errors.Join(nil, errors.Join(wrapped), c)), []error{a, wrapped, c}},
		"by a format":     {fmt.Errorf("%w and %w", a, b), []error{a, b}},
	} {
		if got := joined.Errors(tc.err); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
