package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// side is one of the two that are compared.
type side struct {
	name string
	// before runs before each round, and is not measured; may be nil.
	before func(context.Context) error
	run    func(context.Context) error
}

// after returns the side with what runs before each round, one after the other.
func (s side) after(steps ...func(context.Context) error) side {
	s.before = func(ctx context.Context) error {
		for _, step := range steps {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	return s
}

// comparison is a case of Pharos and its peer.
type comparison struct {
	name       string
	ours, peer side
	// cold says that the first round counts too, and that there are few.
	cold bool
	// note says something about the case once it was measured; may be nil.
	note func(context.Context) (string, error)
}

// result is a comparison that was measured.
type result struct {
	comparison
	oursTook, peerTook []time.Duration
	said               string
}

const coldRounds = 3

// measure runs both sides of a comparison in turn.
func (b *bench) measure(ctx context.Context, c comparison) (result, error) {
	r := result{comparison: c}
	rounds, skip := b.rounds, 1
	if c.cold {
		rounds, skip = min(rounds, coldRounds), 0
	}
	fmt.Fprintf(b.progress, "%s: %d rounds\n", c.name, rounds)
	for i := range rounds + skip {
		for _, s := range []struct {
			side
			took *[]time.Duration
		}{{c.ours, &r.oursTook}, {c.peer, &r.peerTook}} {
			took, err := s.once(ctx)
			if err != nil {
				return r, fmt.Errorf("%s: %w", s.name, err)
			}
			if i >= skip {
				*s.took = append(*s.took, took)
			}
		}
	}
	var err error
	if c.note != nil {
		r.said, err = c.note(ctx)
	}
	return r, err
}

func (s side) once(ctx context.Context) (time.Duration, error) {
	if s.before != nil {
		if err := s.before(ctx); err != nil {
			return 0, err
		}
	}
	start := time.Now()
	err := s.run(ctx)
	return time.Since(start), err
}

// median is the middle of durations, the lower one of two.
func median(d []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	return sorted[(len(sorted)-1)/2]
}

func printTable(w io.Writer, results []result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "CASE\tPHAROS\tMIN\tMEDIAN\tPEER\tMIN\tMEDIAN\tRATIO\tROUNDS\tNOTE")
	for _, r := range results {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.2f\t%d\t%s\n", r.name,
			r.ours.name, round(slices.Min(r.oursTook)), round(median(r.oursTook)),
			r.peer.name, round(slices.Min(r.peerTook)), round(median(r.peerTook)),
			float64(median(r.oursTook))/float64(median(r.peerTook)), len(r.oursTook), r.said)
	}
	fmt.Fprintln(t, "\nThe ratio is that of the medians: below 1, Pharos takes less time than its peer.")
	return t.Flush()
}

func round(d time.Duration) time.Duration {
	if d >= 10*time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}
