package worktree

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// cache is what is known of edited files. It is worth no flush to the disk: what
// a power failure leaves of it is not whole, and is not used.
type cache struct {
	context string // what else the records hold for
	written int64  // bytes of files hashed since the store was measured
	records map[string]record
}

// record says what git makes of a file.
type record struct {
	index state  // what the index had
	key   string // the file's
	attrs string // see edit
	made  state
}

const cacheHeader = "pharos worktree cache 1"

// load returns an empty cache if there is none that holds in a context.
func (s *store) load(context string) *cache {
	empty := &cache{context: context, records: map[string]record{}}
	data, err := os.ReadFile(s.cache())
	if err != nil || len(data) < 2*sha256.Size {
		return empty
	}
	body, sum := data[:len(data)-2*sha256.Size], string(data[len(data)-2*sha256.Size:])
	if checksum(body) != sum {
		return empty
	}
	header, rest, _ := strings.Cut(string(body), "\x00")
	f := strings.Split(header, "\n")
	if len(f) != 3 || f[0] != cacheHeader {
		return empty
	}
	if empty.written, err = strconv.ParseInt(f[2], 10, 64); err != nil || f[1] != context {
		return empty
	}
	c := &cache{context: context, written: empty.written, records: make(map[string]record, strings.Count(rest, "\x00"))}
	for line := range strings.SplitSeq(rest, "\x00") {
		if f := strings.SplitN(line, " ", 7); len(f) == 7 {
			c.records[f[6]] = record{index: parseState(f[0], f[1]), key: f[2], attrs: f[3], made: parseState(f[4], f[5])}
		}
	}
	return c
}

// save replaces the cache. Where several calls do, the last one's stays.
func (s *store) save(c *cache, work *scratch) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n%d\x00", cacheHeader, c.context, c.written)
	for path, r := range c.records {
		fmt.Fprintf(&b, "%o %s %s %s %o %s %s\x00", r.index.mode, r.index.id, r.key, r.attrs, r.made.mode, r.made.id, path)
	}
	b.WriteString(checksum([]byte(b.String())))
	made := work.path("cache")
	if err := os.WriteFile(made, []byte(b.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(made, s.cache())
}

func checksum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func parseState(mode, id string) state {
	m, err := strconv.ParseUint(mode, 8, 32)
	if err != nil {
		return state{}
	}
	return state{source.Mode(m), source.ID(id)}
}
