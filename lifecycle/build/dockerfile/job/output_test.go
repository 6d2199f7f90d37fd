package job

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
)

// What buildctl v0.34.2 prints.
const (
	failedRun = `#7 [2/2] RUN echo about to fail && false
#7 0.070 hello
#7 0.071 about to fail
#8 0.071 another
#7 ERROR: process "/bin/sh -c echo about to fail && false" did not complete successfully: exit code: 1
------
 > [2/2] RUN echo about to fail && false:
0.071 about to fail
------
web/Dockerfile:2
--------------------
   1 |     FROM base
   2 | >>> RUN echo about to fail && false
   3 |     
--------------------
error: failed to solve: process "/bin/sh -c echo about to fail && false" did not complete successfully: exit code: 1
`
	failedCopy = `#6 ERROR: failed to calculate checksum of ref abc::def: "/missing": not found
------
 > [2/2] COPY missing /:
------
Dockerfile:2
--------------------
   1 |     FROM base
   2 | >>> COPY missing /
--------------------
error: failed to solve: failed to compute cache key: failed to calculate checksum of ref abc::def: "/missing": not found
`
)

func TestParseFailure(t *testing.T) {
	t.Parallel()
	type failure struct {
		File         string
		Line         int
		Step, Output string
		Err          string
	}
	for _, tc := range []struct {
		printed string
		want    failure
	}{
		{failedRun, failure{"web/Dockerfile", 2, "[2/2] RUN echo about to fail && false", "hello\nabout to fail\n",
			`error: failed to solve: process "/bin/sh -c echo about to fail && false" did not complete successfully: exit code: 1`}},
		{failedCopy, failure{"Dockerfile", 2, "[2/2] COPY missing /", failedCopy[:len(failedCopy)-1],
			`error: failed to solve: failed to compute cache key: failed to calculate checksum of ref abc::def: "/missing": not found`}},
		{"build: line 8: buildctl: not found\n", failure{Output: "build: line 8: buildctl: not found", Err: "build: line 8: buildctl: not found"}},
		{"", failure{}},
	} {
		e := parseFailure(tc.printed)
		if diff := cmp.Diff(tc.want, failure{e.File, e.Line, e.Step, e.Output, e.Err.Error()}); diff != "" {
			t.Error(diff)
		}
	}
}

func FuzzParseFailure(f *testing.F) {
	for _, s := range []string{failedRun, failedCopy, "", "------\n > x:\n", "a:1\n--------------------"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, printed string) {
		if e := parseFailure(printed); e.Err == nil || e.Line < 0 {
			t.Errorf("%+v", e)
		}
	})
}

func FuzzParseResult(f *testing.F) {
	f.Add("version v0.34.2\n  \"containerimage.digest\": \"" + digest + "\",\n")
	f.Add("")
	f.Fuzz(func(t *testing.T, message string) {
		solved, err := parseResult(message)
		if err == nil && (len(solved.Digest) != len(digest) || solved.Digest[:7] != "sha256:") {
			t.Errorf("%+v", solved)
		}
		if err != nil && solved != (dockerfile.Solved{}) {
			t.Errorf("%+v and %v", solved, err)
		}
	})
}

// Of two digests neither is the image's.
func TestParseResultRefuses(t *testing.T) {
	t.Parallel()
	line := "\"containerimage.digest\": \"" + digest + "\"\n"
	for _, message := range []string{"", "version v1\n", line + line, "containerimage.digest " + digest, "x" + line, "\"containerimage.digest\": \"sha256:12\"\n"} {
		if solved, err := parseResult(message); err == nil {
			t.Errorf("%q: %+v", message, solved)
		}
	}
}
