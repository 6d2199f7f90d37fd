package dockerfile

import (
	"context"
	"errors"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// ignored looks for sources in a tree of which nothing is ignored. It has limits of
// its own, beyond which nothing is said.
type ignored struct {
	tree   source.Tree
	rules  *rules // nil if nothing is
	limits limits
	whole  *buildContext
	over   bool // the limits are
}

// by returns the file whose rules keep out what a source names that is not in the
// context; "" if it would be missing without them too.
func (i *ignored) by(ctx context.Context, t take) (string, error) {
	if i.rules == nil || i.over {
		return "", nil
	}
	if i.whole == nil {
		i.whole = newContext(i.tree, nil, &reading{limits: i.limits})
	}
	reason, err := i.whole.run(ctx, t)
	if errors.As(err, new(*TooLargeError)) {
		i.over = true
		return "", nil
	}
	if err != nil || reason != "" {
		return "", err
	}
	return i.rules.file, nil
}
