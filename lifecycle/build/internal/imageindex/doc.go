// Package imageindex puts the images of several platforms together into the index
// that a builder pushes.
package imageindex
