package policy

import (
	"bytes"
	"fmt"
	"regexp"
)

// machinePath is a path that says where somebody's files are; a path component before it makes it another path.
var machinePath = regexp.MustCompile(`(?m)(?:^|[^\w.~$})/-])(/(?:work|root|Users/\w+|home/\w+)/)`)

// checkText finds what is true on one machine only.
func checkText(name string, text []byte) []string {
	if bytes.IndexByte(text, 0) >= 0 {
		return nil
	}
	var findings []string
	for i, line := range bytes.Split(text, []byte("\n")) {
		for _, m := range machinePath.FindAllSubmatch(line, -1) {
			findings = append(findings, fmt.Sprintf("%s:%d: %s is a path of one machine", name, i+1, m[1]))
		}
	}
	return findings
}
