// Command testreport reads what "go test -json" prints and decides whether the run was good: it reports each package
// as it ends, prints what a failing test printed in full, and counts. A skipped test is a failure, since a test that
// may be skipped proves nothing; so is a listed test that did not run, and a run without any test. Lines that are not
// events of go test are passed on as they are.
//
//	go test -json ./... | testreport [-required FILE] [-summary FILE]
//
// FILE of -required lists tests that must have passed, one per line: import path, white space, name of the test or
// subtest. Empty lines and what follows a "#" are ignored. FILE of -summary receives the closing line
// "N passed, N failed, N skipped" instead of stdout.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

// quiet is how long nothing may be printed before the report says what is running.
const quiet = time.Minute

func main() {
	required := flag.String("required", "", "list of tests that must have passed")
	summary := flag.String("summary", "", "file for the closing line (default stdout)")
	flag.Parse()
	ok, err := run(os.Stdin, os.Stdout, *required, *summary)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer, requiredFile, summaryFile string) (ok bool, err error) {
	var required []test
	if requiredFile != "" {
		if required, err = readRequired(requiredFile); err != nil {
			return false, err
		}
	}
	r := newReport(out)
	if err := follow(r, in); err != nil {
		return false, err
	}
	r.finish(required)
	closing := r.closing() + "\n"
	if summaryFile == "" {
		_, err = io.WriteString(out, closing)
	} else {
		err = os.WriteFile(summaryFile, []byte(closing), 0o644)
	}
	return r.good(), err
}

// follow feeds the report until the input ends.
func follow(r *report, in io.Reader) error {
	lines := make(chan []byte)
	failed := make(chan error, 1)
	go func() {
		defer close(lines)
		// Not a Scanner: one event holds a whole line of a test's output, however long.
		reader := bufio.NewReader(in)
		for {
			line, err := reader.ReadBytes('\n')
			if len(line) > 0 {
				lines <- line
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					failed <- err
				}
				return
			}
		}
	}()
	ticker := time.NewTicker(quiet)
	defer ticker.Stop()
	for {
		select {
		case line, more := <-lines:
			if !more {
				select {
				case err := <-failed:
					return fmt.Errorf("read the events: %w", err)
				default:
					return nil
				}
			}
			if r.line(line) {
				ticker.Reset(quiet)
			}
		case <-ticker.C:
			r.running()
		}
	}
}
