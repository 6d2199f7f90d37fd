package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
)

// newLines writes the lines of the protocol as they are, whoever has them.
func newLines(w io.Writer) func(guardian.Line) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	var mu sync.Mutex
	return func(l guardian.Line) error {
		mu.Lock()
		defer mu.Unlock()
		return encoder.Encode(l)
	}
}

// longestRequest is that of a line of the input, as of a line to a guardian.
const longestRequest = 64 << 10

// readRequests reads requests, one line each, until the input ends or it is stopped. What
// is none is answered as the guardian would, and the next line is read.
func readRequests(ctx context.Context, in io.Reader, answer func(guardian.Line) error) (requests <-chan guardian.Request, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	found := make(chan guardian.Request)
	refuse := func(id string, err error) {
		_ = answer(guardian.Refusal(id, err)) // who does not read is noticed elsewhere
	}
	go func() {
		defer close(found)
		lines := bufio.NewReaderSize(in, longestRequest)
		for {
			line, err := lines.ReadSlice('\n')
			if errors.Is(err, bufio.ErrBufferFull) {
				for errors.Is(err, bufio.ErrBufferFull) {
					_, err = lines.ReadSlice('\n')
				}
				refuse("", fmt.Errorf("the request has more than %d bytes", longestRequest))
				line = nil
			}
			if line = bytes.TrimSpace(line); len(line) > 0 {
				r, perr := guardian.ParseRequest(line)
				if perr != nil {
					refuse(r.ID, perr)
				} else {
					select {
					case found <- r:
					case <-ctx.Done():
						return
					}
				}
			}
			if err != nil {
				return // there is no more of it, which ends nothing else
			}
		}
	}()
	return found, cancel
}
