package catalogue

import "errors"

// TriggerError is returned for an image whose base is an image of the catalogue
// with an ONBUILD instruction that takes files from a further image or a stage:
// neither the image's own recipe nor its fingerprint would name that.
type TriggerError struct {
	Base        string // the name of the base
	At          string // file and line of the instruction
	Instruction string
}

func (e *TriggerError) Error() string {
	return "is built on " + e.Base + ", where " + e.At + " has " + e.Instruction +
		": what it takes files from would be in no fingerprint; write the instruction without ONBUILD in the Dockerfiles that are built on " + e.Base
}

// triggered returns a *TriggerError for each ONBUILD instruction of the
// catalogue's images that a Dockerfile is built on and that takes files from
// others. A program's image runs none, and passes its base's on.
func (r *resolver) triggered(c *candidate) error {
	var errs []error
	var passed []trigger
	said := map[trigger]bool{}
	for _, of := range c.basis.bases {
		for _, ref := range of.refs {
			if !r.own(ref) {
				continue
			}
			for _, t := range r.all[r.names[ref]].basis.triggers {
				if !said[t] {
					said[t] = true
					passed = append(passed, t)
					errs = append(errs, &TriggerError{Base: ref, At: t.at, Instruction: t.instruction})
				}
			}
		}
	}
	if c.Image.Build.Go != nil {
		c.basis.triggers = passed
		return nil
	}
	return errors.Join(errs...)
}
