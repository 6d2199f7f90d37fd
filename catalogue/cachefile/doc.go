// Package cachefile keeps what package catalogue computes of trees in one file,
// so that the next process has it too: the fingerprints of a commit then cost
// what differs from the commits before, and not what the repository holds.
//
//	cache := cachefile.Open(cachefile.Config{Path: filepath.Join(gitDir, "pharos", "fingerprints")})
//	states, err := c.States(ctx, catalogue.Cached(commit.Tree, cache))
//	…
//	_ = cache.Save() // at worst the next process computes it again
//
// # Format
//
// The file is
//
//	"pharos cache 1\n" and a NUL      16 bytes
//	the number of values              4 bytes, as all numbers with the highest byte last
//	for each value, sorted by key     its key, 32 bytes
//	                                  where it ends among the values, 4 bytes
//	                                  how often the file was written since it was used, 1 byte
//	the values                        one behind the other
//	the SHA-256 of all that           32 bytes
//
// # Guarantees
//
// A file that is not whole, is of another version, or is larger than the bound is
// as good as none: it is never an error, and is replaced by the next Save. The hash
// finds every byte that a disk or a crash has changed. It is no defence against
// whoever may write to the folder on purpose: such a person could as well change
// the objects, the index or the hooks of the repository.
//
// A file is written beside the old one and then renamed, so that a reader sees
// either of them whole, and several processes need no lock: of two that save at the
// same time, one's values are not kept. It is not flushed to the disk, since what a
// power failure leaves of it is found not to be whole, and computing it again costs
// less than waiting for the disk each time.
//
// What was not used while the file was written 250 times is dropped, and what is
// beyond the bound, that which was not used for the longest time first. The file
// can be deleted at any time.
package cachefile
