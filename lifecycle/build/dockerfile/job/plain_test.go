package job

import (
	"bytes"
	"strings"
	"testing"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	var printed bytes.Buffer
	p := &plain{to: &printed}
	for line := range strings.Lines("#1 load\n\n" + failedRun + "#9 late\n") {
		if n, err := p.Write([]byte(line)); err != nil || n != len(line) {
			t.Fatal(n, err)
		}
	}
	const want = "#1 load\n#7 [2/2] RUN echo about to fail && false\n#7 hello\n#7 about to fail\n#8 another\n" +
		"#7 ERROR: process \"/bin/sh -c echo about to fail && false\" did not complete successfully: exit code: 1\n"
	if got := printed.String(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
