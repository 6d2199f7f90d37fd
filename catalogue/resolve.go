package catalogue

import (
	"errors"
	"slices"
)

// candidate is an image on its way to its fingerprint.
type candidate struct {
	State
	wanted    bool // itself, or by one that is built on it; all else is zero if not
	toolchain string
	basis     basis
	unread    bool  // what it is built on could not be found out
	err       error // why it has none
}

// resolver says what the references of images stand for.
type resolver struct {
	lock  Lock
	names map[string]int
	all   []candidate
}

// missing returns the places of images that these are built on and that nobody
// has looked at yet.
func (r *resolver) missing(users []int) []int {
	var missing []int
	for _, i := range users {
		for _, ref := range r.all[i].basis.references() {
			if on, own := r.names[ref]; own && !r.all[on].wanted {
				r.all[on].wanted = true
				missing = append(missing, on)
			}
		}
	}
	return missing
}

// finish computes the fingerprints, those of images that others are built on
// first.
func (r *resolver) finish() {
	waiting := make([]int, len(r.all)) // for how many others
	users := make([][]int, len(r.all))
	var ready []int
	for i := range r.all {
		if !r.all[i].wanted {
			continue
		}
		r.link(&r.all[i])
		for _, name := range r.all[i].Dependencies {
			on := r.names[name]
			users[on] = append(users[on], i)
		}
		if waiting[i] = len(r.all[i].Dependencies); waiting[i] == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		r.seal(&r.all[i])
		for _, user := range users[i] {
			if waiting[user]--; waiting[user] == 0 {
				ready = append(ready, user)
			}
		}
	}
	r.cycles(waiting)
}

// link finds out what the references of an image stand for.
func (r *resolver) link(c *candidate) {
	var unlocked []string
	for _, ref := range c.basis.references() {
		switch {
		case r.own(ref):
			c.Dependencies = append(c.Dependencies, ref)
		case r.digest(ref) == "":
			unlocked = append(unlocked, ref)
		}
	}
	if len(unlocked) > 0 {
		c.err = errors.Join(c.err, &UnlockedError{References: unlocked})
		return
	}
	for _, of := range c.basis.bases {
		for _, ref := range of.refs {
			if !r.own(ref) {
				c.Bases = append(c.Bases, r.pinned(ref))
			}
		}
	}
	slices.Sort(c.Bases)
	c.Bases = slices.Compact(c.Bases)
	if c.basis.frontend != "" && !r.own(c.basis.frontend) {
		c.Frontend = r.pinned(c.basis.frontend)
	}
}

func (r *resolver) own(ref string) bool {
	_, own := r.names[ref]
	return own
}

// digest returns the digest that a reference stands for, "" if nothing says it.
func (r *resolver) digest(ref string) string {
	if digest := byDigest(ref); digest != "" {
		return digest
	}
	return r.lock.Images[ref]
}

// fingerprint returns that of an image of the catalogue.
func (r *resolver) fingerprint(name string) string {
	return string(r.all[r.names[name]].Fingerprint)
}

// pinned returns a reference by digest.
func (r *resolver) pinned(ref string) string {
	if byDigest(ref) != "" {
		return ref
	}
	return ref + "@" + r.lock.Images[ref]
}

// seal computes the fingerprint of an image, once those of its dependencies are
// known.
func (r *resolver) seal(c *candidate) {
	var failed []string
	for _, name := range c.Dependencies {
		if r.all[r.names[name]].err != nil {
			failed = append(failed, name)
		}
	}
	if len(failed) > 0 {
		c.err = errors.Join(c.err, &DependencyError{Images: failed})
	}
	c.err = errors.Join(c.err, r.triggered(c))
	if c.err != nil {
		return
	}
	c.Preimage = c.preimage(r)
	c.Fingerprint, c.err = ComputeFingerprint(c.Preimage)
}

// cycles gives an error to the images that are still waiting: those that are
// built on themselves, and those that are built on such.
func (r *resolver) cycles(waiting []int) {
	told := make([]bool, len(r.all))
	for i := range r.all {
		if waiting[i] == 0 || told[i] {
			continue
		}
		way := r.wayBack(i)
		err := &CycleError{}
		for _, on := range way {
			err.Images = append(err.Images, r.all[on].Image.Name)
		}
		for _, on := range way {
			if !told[on] {
				told[on] = true
				r.all[on].err = errors.Join(r.all[on].err, err)
			}
		}
	}
	for i := range r.all {
		if waiting[i] > 0 && !told[i] {
			r.all[i].err = errors.Join(r.all[i].err, &DependencyError{Images: r.stuck(i, waiting)})
		}
	}
}

// stuck returns the dependencies of an image that are without a fingerprint.
func (r *resolver) stuck(i int, waiting []int) []string {
	var names []string
	for _, name := range r.all[i].Dependencies {
		if on := r.names[name]; waiting[on] > 0 || r.all[on].err != nil {
			names = append(names, name)
		}
	}
	return names
}

// wayBack returns the shortest way from an image to itself, nil if there is
// none.
func (r *resolver) wayBack(from int) []int {
	via := map[int]int{}
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, name := range r.all[at].Dependencies {
			on := r.names[name]
			if on == from {
				way := []int{at}
				for at != from {
					at = via[at]
					way = append(way, at)
				}
				slices.Reverse(way)
				return way
			}
			if _, seen := via[on]; !seen {
				via[on] = at
				queue = append(queue, on)
			}
		}
	}
	return nil
}
