// Package layer makes the layers of images, each in a file.
//
// A layer is archived, compressed and hashed in one pass, so both its digests
// are known when it is written, and nothing is held in memory, however large its
// files. What it holds belongs to root and is of no time: the same content gives
// the same bytes, wherever, whenever and by whomever it is written.
package layer
