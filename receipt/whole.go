package receipt

import (
	"context"
	"sync"
)

// Whole is a receipt with its outcomes, as a store has them. Either of them may
// be damaged or gone: each has an error of its own, as of Store.Get and
// Store.Outcomes.
type Whole struct {
	Record      Record
	RecordErr   error
	Outcomes    []Outcome
	OutcomesErr error
}

// WholeReader is implemented by Stores that read a record and its outcomes
// together in fewer calls than apart.
type WholeReader interface {
	// Whole returns what Get and Outcomes do.
	Whole(ctx context.Context, id ID) Whole
}

// ReadWhole reads a receipt with its outcomes: together from a WholeReader, else
// side by side.
func ReadWhole(ctx context.Context, s Store, id ID) Whole {
	if r, ok := s.(WholeReader); ok {
		return r.Whole(ctx, id)
	}
	var w Whole
	var g sync.WaitGroup
	g.Go(func() { w.Record, w.RecordErr = s.Get(ctx, id) })
	g.Go(func() { w.Outcomes, w.OutcomesErr = s.Outcomes(ctx, id) })
	g.Wait()
	return w
}
