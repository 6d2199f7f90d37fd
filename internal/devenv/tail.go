package devenv

import (
	"bytes"
	"io"
	"os"
)

// tailSize is how much of a log an error shows, in bytes.
const tailSize = 4096

// tailOfFile returns the end of a file, from the begin of a line.
func tailOfFile(path string, size int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	from := max(0, info.Size()-size)
	b, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	if err != nil {
		return "", err
	}
	if from > 0 {
		if _, rest, ok := bytes.Cut(b, []byte("\n")); ok {
			b = rest
		}
	}
	return string(b), nil
}
