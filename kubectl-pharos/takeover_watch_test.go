package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
)

// Of a line that asks for what is not known nothing comes but an answer: of a misspelt
// list of workloads all would be handed back. The last line needs no end.
func TestReadRequests(t *testing.T) {
	t.Parallel()
	var answers []string
	done := make(chan struct{})
	requests, stop := readRequests(t.Context(), strings.NewReader(`
{"version":1,"op":"handback","workload":["shop/api"]}
{"version":7,"op":"handback","id":"old"}
{"op":"handback"}
{"version":1,"op":"shell"}
nonsense
`+strings.Repeat("x", 200_000)+`
{"version":1,"op":"handback","workloads":["shop/api"],"id":"one"}
`+"\x00\xff\n\r\n"+`{"version":1,"op":"status","id":"two"}`), func(l guardian.Line) error {
		answers = append(answers, fmt.Sprint(l.Version, l.Type, l.Class, " ", l.Error, " ", l.ID))
		return nil
	})
	defer stop()
	var got []string
	go func() {
		defer close(done)
		for r := range requests {
			got = append(got, fmt.Sprint(r.ID, r.Workloads))
		}
	}()
	<-done
	if fmt.Sprint(got) != "[one[shop/api] two[]]" {
		t.Errorf("the requests are %q", got)
	}
	for i, want := range []string{"unknown field", "speaks 1 old", "version 0", `"shell" is nothing`, "cannot be read", "more than 65536 bytes", "cannot be read"} {
		if i >= len(answers) || !strings.HasPrefix(answers[i], "1answerusage ") && !strings.HasPrefix(answers[i], "1 answer usage ") || !strings.Contains(answers[i], want) {
			t.Errorf("answer %d of %q is not about %s", i, answers, want)
		}
	}
	if len(answers) != 7 {
		t.Errorf("%d answers: %q", len(answers), answers)
	}
}
