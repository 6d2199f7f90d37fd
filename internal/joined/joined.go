// Package joined takes apart what errors.Join puts together.
package joined

// Errors returns the errors that were joined, at any depth, in their order: err alone
// if there are none, and nothing if it is nil.
func Errors(err error) []error {
	if err == nil {
		return nil
	}
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, err := range several.Unwrap() {
		all = append(all, Errors(err)...)
	}
	return all
}
