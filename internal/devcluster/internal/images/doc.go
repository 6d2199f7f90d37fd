// Package images makes the few images that a node needs from programs of the machine, and pushes them to its registry.
package images
