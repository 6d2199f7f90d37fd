package inputs

import (
	"errors"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/filesrecipe"
)

// refused says for what an image of files would be refused when it is built. Inputs
// that cannot be cut out of the tree, or lack what the recipe names, are
// catalogue.Check's to say.
func (k *check) refused() error {
	b := *k.image.Build.Files
	form, problems := filesrecipe.Check(b)
	if len(problems) == 0 {
		inputs, _, err := catalogue.Prune(k.ctx, k.tree, k.image.Inputs)
		if err != nil {
			return k.ctx.Err()
		}
		_, err = filesrecipe.Find(k.ctx, inputs, b, form)
		refused, isRefused := errors.AsType[*filesrecipe.RefusedError](err)
		switch {
		case isRefused:
			problems = refused.Reasons
		case err != nil && !errors.Is(err, filesrecipe.ErrMissing):
			return err
		}
	}
	for _, problem := range problems {
		k.add(catalogue.Finding{Path: b.From, Message: problem})
	}
	return nil
}
