package guardian_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
)

// Whatever a line says, it is a request that says the same when it is written again, or
// an error; and nothing that this guardian does not know is part of it.
func FuzzParseRequest(f *testing.F) {
	for _, line := range []string{
		`{"version":1,"op":"status"}`, `{"version":1,"op":"handback","workloads":["api","shop/mail"],"id":"7"}`, `{"version":1,"op":"logs","follow":true}`,
		`{"version":2,"op":"status"}`, `{"version":1,"op":"handback","workload":["api"]}`, `{"version":1,"op":"stop"} {}`, `{"version":1,"op":"stop","op":"status"}`,
		`{"Version":1,"OP":"stop"}`, `[]`, `null`, ``, `{"version":1,"id":"` + strings.Repeat("x", 65) + `"}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := guardian.ParseRequest(line)
		if err != nil {
			return
		}
		if r.Version != guardian.Version || len(r.ID) > 64 {
			t.Errorf("%+v is not to be answered", r)
		}
		if !json.Valid(bytes.TrimSpace(line)) {
			t.Errorf("%q is more than one document", line)
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := guardian.ParseRequest(again); err != nil || !reflect.DeepEqual(normal(back), normal(r)) {
			t.Errorf("%+v became %+v, %v", r, back, err)
		}
	})
}

// normal has no empty list of workloads, which is as none.
func normal(r guardian.Request) guardian.Request {
	if len(r.Workloads) == 0 {
		r.Workloads = nil
	}
	return r
}
