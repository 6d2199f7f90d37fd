// Package listeners joins network listeners.
package listeners
