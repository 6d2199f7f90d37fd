package controller

// failing keeps what was said of something that is tried again and again, so that what
// lasts is said once.
type failing struct{ said string }

// heard says whether the outcome of a try is to be said: a failure that was not said
// last, or that there is none any more.
func (f *failing) heard(err error) (fails, over bool) {
	was := f.said
	f.said = ""
	if err != nil {
		f.said = err.Error()
	}
	return f.said != "" && f.said != was, was != "" && f.said == ""
}
