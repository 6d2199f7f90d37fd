package main

import (
	"bytes"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover"
)

// A terminal says where each Service is, when one ceases to work, and nothing twice.
func TestForwardLines(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	p := &takeoverProgress{w: &said}
	db, search := takeover.ForwardStatus{Service: "db:5432", Address: "127.0.0.1:23511"}, takeover.ForwardStatus{Service: "search.data:9200", Address: "127.0.0.1:20001"}
	tell := func(all ...takeover.ForwardStatus) {
		p.event(takeover.Event{Type: takeover.EventForwards, Workload: "Deployment shop/api", Forwards: all})
	}
	tell(db, search)
	db.Pod = "db-0"
	tell(db, search)
	db.Pod, db.Reason = "", "Service shop/db has no ready pod for port 5432"
	tell(db, search)
	want := `Deployment shop/api: db:5432 is at 127.0.0.1:23511
Deployment shop/api: search.data:9200 is at 127.0.0.1:20001
Deployment shop/api: db:5432 is at 127.0.0.1:23511, and does not work: Service shop/db has no ready pod for port 5432
`
	if said.String() != want {
		t.Errorf("it says\n%swant\n%s", said.String(), want)
	}
}
