package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
)

// Of a line that asks for what is not known nothing comes: of a misspelt list of
// workloads all would be handed back.
func TestReadRequests(t *testing.T) {
	t.Parallel()
	var warnings bytes.Buffer
	requests, stop := readRequests(t.Context(), strings.NewReader(`
{"version":1,"op":"handback","workload":["shop/api"]}
{"version":7,"op":"handback"}
{"op":"handback"}
nonsense
{"version":1,"op":"handback","workloads":["shop/api"],"id":"one"}
`), &warnings)
	defer stop()
	var got []guardian.Request
	for r := range requests {
		got = append(got, r)
	}
	if len(got) != 1 || got[0].ID != "one" || len(got[0].Workloads) != 1 {
		t.Errorf("the requests are %+v", got)
	}
	if n := strings.Count(warnings.String(), "warning: nothing comes of a line"); n != 4 {
		t.Errorf("%d lines are told of:\n%s", n, warnings.String())
	}
}
