package takeover_test

import (
	"reflect"
	"testing"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/takeovertest"
)

// Where the Services of a process are is told by events and by the status, for as long
// as they are there.
func TestForwardsAreTold(t *testing.T) {
	t.Parallel()
	s := takeovertest.NewShop(t, devtest.Cluster(t))
	s.Write(editAPI)
	local := &takeovertest.Workstation{}
	c := s.Config()
	c.Workstation = local
	r := begin(t, c)
	r.until(takeover.EventServing, 1)
	works := takeover.ForwardStatus{Service: "db:5432", Address: "127.0.0.1:23511", Pod: "db-0"}
	broken := takeover.ForwardStatus{Service: "db:5432", Address: "127.0.0.1:23511", Reason: "Service shop/db has no ready pod for port 5432"}
	for _, want := range []takeover.ForwardStatus{works, broken} {
		local.Forwarded("api", want)
		if got := r.Status().Workloads[0].Forwards; !reflect.DeepEqual(got, []takeover.ForwardStatus{want}) {
			t.Errorf("the status has %+v, want %+v", got, want)
		}
	}
	if err := r.HandBack(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	var told []takeover.ForwardStatus
	for _, e := range r.all() {
		if e.Type == takeover.EventForwards && e.Image == "api" {
			told = append(told, e.Forwards...)
		}
	}
	if !reflect.DeepEqual(told, []takeover.ForwardStatus{works, broken}) {
		t.Errorf("the events tell of %+v", told)
	}
	if st := r.Status(); len(st.Workloads) > 0 && len(st.Workloads[0].Forwards) > 0 {
		t.Errorf("afterwards the status has %+v", st.Workloads[0].Forwards)
	}
}
