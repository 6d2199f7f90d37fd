// Package machine tells faults of this machine (a disk that is full, a folder
// that is closed, too few files that may be open) from faults of what is built:
// no commit causes or mends them.
package machine
