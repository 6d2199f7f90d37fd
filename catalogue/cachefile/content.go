package cachefile

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"os"
	"sort"

	"github.com/pharos-dev/pharos/catalogue"
)

// content is what a file holds, the hash at its end taken off; the zero value is
// an empty one.
type content struct {
	table  []byte // a row for each value
	values []byte
}

const (
	magic    = "pharos cache 1\n\x00"
	header   = len(magic) + 4
	keySize  = sha256.Size
	rowSize  = keySize + 4 + 1
	leastAll = header + sha256.Size
)

// read returns the content of the file, an empty one if it is not what was
// written, or too large.
func read(c Config) content {
	info, err := os.Lstat(c.Path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > int64(c.MaxBytes) {
		return content{}
	}
	f, err := os.Open(c.Path)
	if err != nil {
		return content{}
	}
	defer f.Close()
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return content{}
	}
	return parse(data)
}

// parse returns an empty content if the data are not what was written.
func parse(data []byte) content {
	if len(data) < leastAll || !bytes.HasPrefix(data, []byte(magic)) {
		return content{}
	}
	body, sum := data[:len(data)-sha256.Size], data[len(data)-sha256.Size:]
	if own := sha256.Sum256(body); !bytes.Equal(own[:], sum) {
		return content{}
	}
	return split(data)
}

// split is parse for what was encoded just now.
func split(data []byte) content {
	body := data[header : len(data)-sha256.Size]
	rows := int(binary.BigEndian.Uint32(data[len(magic):]))
	if rows > len(body)/rowSize {
		return content{}
	}
	return content{table: body[:rows*rowSize], values: body[rows*rowSize:]}
}

func (c content) rows() int { return len(c.table) / rowSize }

func (c content) row(i int) []byte { return c.table[i*rowSize:][:rowSize] }

func (c content) key(i int) []byte { return c.row(i)[:keySize] }

func (c content) age(i int) byte { return c.row(i)[rowSize-1] }

func (c content) end(i int) int { return int(binary.BigEndian.Uint32(c.row(i)[keySize:])) }

// value returns nothing for a place that is not among the values.
func (c content) value(i int) []byte {
	start := 0
	if i > 0 {
		start = c.end(i - 1)
	}
	end := c.end(i)
	if start > end || end > len(c.values) {
		return nil
	}
	return c.values[start:end:end]
}

func (c content) find(key catalogue.CacheKey) (int, bool) {
	return sort.Find(c.rows(), func(i int) int { return bytes.Compare(key[:], c.key(i)) })
}
