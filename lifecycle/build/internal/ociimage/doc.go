// Package ociimage puts images together, and the images of several platforms into
// the index that a builder pushes.
package ociimage
