package divert_test

import (
	"errors"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
)

// Whatever a Deployment says, planning and putting back end without a panic, and what
// is planned can be patched.
func FuzzPlan(f *testing.F) {
	live := liveOf(f, nil)
	f.Add(live, declared(f, original), "api")
	f.Add(live, live, "sidecar")
	f.Add([]byte(`{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"managedFields":[7,{"fieldsV1":[]}]},"spec":{"template":{"spec":{"containers":[{"name":"api"}]}}}}`), live, "api")
	f.Fuzz(func(t *testing.T, live, declared []byte, container string) {
		d, refusals, _, err := divert.Plan(live, declared, container, agent)
		if err != nil {
			if !errors.Is(err, divert.ErrInvalid) {
				t.Errorf("got %v", err)
			}
			return
		}
		if _, err := divert.Restore(live, d); err != nil && !errors.Is(err, divert.ErrInvalid) {
			t.Errorf("restore: %v", err)
		}
		if len(refusals) > 0 {
			return
		}
		if _, err := d.Patch(); err != nil {
			t.Errorf("patch: %v", err)
		}
		if r, err := divert.Restore(live, d); err != nil || r.Outcome != divert.OutcomeWhole {
			t.Errorf("restore what was not diverted: %+v, %v", r, err)
		}
	})
}

// Whatever stands in the place of what was diverted, it is judged without a panic.
func FuzzRestore(f *testing.F) {
	d, _, _, err := divert.Plan(liveOf(f, nil), declared(f, original), "api", agent)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(liveOf(f, nil))
	f.Add([]byte(`{"metadata":{"uid":"5f0c8a52"},"spec":{"template":{"spec":{"containers":[{"name":"api","image":"x","command":7}]}}}}`))
	f.Fuzz(func(t *testing.T, live []byte) {
		r, err := divert.Restore(live, d)
		if err != nil && !errors.Is(err, divert.ErrInvalid) || err == nil && (r.Patch != nil) != (r.Outcome == divert.OutcomeRestored) {
			t.Errorf("got %+v, %v", r, err)
		}
	})
}
