package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// readRequired reads a list of tests. Every line that is not a test is in the error.
func readRequired(file string) ([]test, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var tests []test
	var bad []error
	seen := map[test]bool{}
	for i, line := range strings.Split(string(data), "\n") {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 2 {
			bad = append(bad, fmt.Errorf("%s:%d: want an import path and the name of a test, have %d words", file, i+1, len(fields)))
			continue
		}
		t := test{fields[0], fields[1]}
		if seen[t] {
			bad = append(bad, fmt.Errorf("%s:%d: %s is listed twice", file, i+1, t))
		}
		seen[t] = true
		tests = append(tests, t)
	}
	return tests, errors.Join(bad...)
}
