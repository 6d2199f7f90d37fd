//go:build !linux && !darwin

package watch

// remote is not known here.
func remote(string) string { return "" }
