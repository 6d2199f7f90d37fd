package argocd

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

// answerWithin bounds how long an answer of the controller is waited for.
const answerWithin = time.Minute

// lookAnew has the controller look at Applications, and reads them again once it
// has: their status may be from before an edit of what they deliver, as the
// controller hears of that only then. One that does not answer in time stays
// asked, which its status then says.
func (d *Deliverer) lookAnew(ctx context.Context, parts []*part, guard func(context.Context) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, p := range parts {
		g.Go(func() error { return d.answered(ctx, p, guard) })
	}
	return g.Wait()
}

// answered asks the controller to look at an Application, and waits until it has.
func (d *Deliverer) answered(ctx context.Context, p *part, guard func(context.Context) error) error {
	end := d.now().Add(answerWithin)
	var asked, repeated time.Time
	for p.app != nil && d.now().Before(end) {
		var err error
		switch waits := p.app.RefreshAsked(); {
		case !waits && !asked.IsZero():
			return nil
		case !waits: // what somebody else asked for may have been answered before now
			asked, repeated = d.now(), d.now()
			err = d.change(ctx, p, guard, ask("normal"))
		case !asked.IsZero() && d.now().Sub(repeated) > settle:
			repeated = d.now()
			err = d.change(ctx, p, guard, nudge)
		}
		if err != nil {
			return err
		}
		select {
		case <-time.After(tick):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := d.readOne(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// anew has the controller look at the Applications before they are waited for.
func (w *watching) anew(ctx context.Context) error {
	var parts []*part
	for _, p := range w.parts {
		parts = append(parts, p.part)
	}
	if err := w.read(ctx, parts); err != nil {
		return err
	}
	return w.lookAnew(ctx, parts, w.r.Anew)
}
