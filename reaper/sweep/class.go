package sweep

import "github.com/pharos-dev/pharos/reaper"

// Class says what is the case with an object that says that it ends.
type Class string

// The classes of objects.
const (
	// ClassWaiting is what ends later, or now.
	ClassWaiting Class = "waiting"
	// ClassRefused is what is not ended though it says so: a person has to look.
	ClassRefused Class = "refused"
	// ClassOwned is what ends with its owner.
	ClassOwned Class = "owned"
	// ClassTerminating is what is being deleted.
	ClassTerminating Class = "terminating"
	// ClassStuck is what is being deleted for longer than Config.StuckAfter.
	ClassStuck Class = "stuck"
)

// Classes are all of them.
var Classes = []Class{ClassWaiting, ClassRefused, ClassOwned, ClassTerminating, ClassStuck}

// class is the index of one of them.
type class uint8

const (
	isWaiting class = iota
	isRefused
	isOwned
	isTerminating
	isStuck
)

// classOf is the class by a decision; false for what does not say that it ends.
func classOf(d reaper.Decision) (class, bool) {
	switch {
	case d.Verdict == reaper.Wait, d.Verdict == reaper.Delete:
		return isWaiting, true
	case d.Verdict == reaper.Refuse:
		return isRefused, true
	case d.Reason == reaper.Owned:
		return isOwned, true
	case d.Reason == reaper.Terminating:
		return isTerminating, true
	}
	return 0, false
}
