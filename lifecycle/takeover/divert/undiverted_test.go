package divert_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
)

// A Deployment that is diverted is known as it will be once it is put back: with its spec,
// and with the fields of who delivers it.
func TestUndiverted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.diverted()
	known, err := divert.Undiverted(b.live(), d)
	if err != nil {
		t.Fatal(err)
	}
	b.restore(b.writer(b.cluster.Config(), nil), d)
	back := b.live()
	if got, want := spec(t, known), spec(t, back); got != want {
		t.Errorf("its spec is\n%s\nwant\n%s", got, want)
	}
	if got, want := appliedBy(t, known), appliedBy(t, back); !reflect.DeepEqual(got, want) || got == nil {
		t.Errorf("its deliverer has\n%v\nwant\n%v", got, want)
	}
	// What is as it was delivered stays so, and so does what somebody else has changed.
	if same, err := divert.Undiverted(back, d); err != nil || string(same) != string(back) {
		t.Errorf("put back it is\n%s, %v", same, err)
	}
}

// What somebody else has changed of a diversion is not known to be anything else.
func TestUndivertedOfOthers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.diverted()
	b.patch("ann", `[{"op":"replace","path":"/spec/template/spec/containers/1/image","value":"elsewhere/api:2"}]`)
	live := b.live()
	if known, err := divert.Undiverted(live, d); err != nil || string(known) != string(live) {
		t.Errorf("it is\n%s, %v", known, err)
	}
}

// appliedBy are the fields of who delivers.
func appliedBy(t *testing.T, doc []byte) any {
	t.Helper()
	var o struct {
		Metadata struct {
			ManagedFields []struct {
				Manager, Operation string
				FieldsV1           any
			}
		}
	}
	if err := json.Unmarshal(doc, &o); err != nil {
		t.Fatal(err)
	}
	for _, e := range o.Metadata.ManagedFields {
		if e.Manager == "pharos-devbox" && e.Operation == "Apply" {
			return e.FieldsV1
		}
	}
	return nil
}
