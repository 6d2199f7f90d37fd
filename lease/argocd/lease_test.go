package argocd_test

import (
	"testing"
	"time"
)

// What is edited under a lease stays, whatever Argo CD would heal; other
// Applications of the project are healed throughout; and it is what Git declares
// again when the gate was opened. The project is as it was found.
func TestBorrowAndHandBack(t *testing.T) {
	t.Parallel()
	w := healed(t, healing, "api", "web")
	before := w.spec(w.name)
	c := w.claim(time.Hour, "api")
	w.close(c)
	w.edit("api", "edited")
	w.edit("web", "edited")
	w.becomes("web", "declared")
	w.stays("api", "edited")
	r := w.open(c)
	if got := w.value("api"); got != "declared" {
		t.Errorf("it is %q when the gate was opened", got)
	}
	if len(r.Opened) != 1 || len(r.Others) != 0 {
		t.Errorf("reported %+v", r)
	}
	if after := w.spec(w.name); after != before {
		t.Errorf("the project is %s, was %s", after, before)
	}
}

// When the holder is gone, the window ends by itself, and what it kept from being
// healed is healed by Argo CD alone.
func TestEndsByItself(t *testing.T) {
	t.Parallel()
	w := healed(t, healing, "api")
	c := w.claim(30*time.Second, "api")
	w.close(c)
	w.edit("api", "edited")
	restored := w.becomes("api", "declared")
	for _, m := range restored.ManagedFields {
		if m.Manager == "argocd-controller" && m.Time.Time.Before(c.Until) {
			t.Errorf("it was healed at %s, and the window lasts until %s", m.Time, c.Until)
		}
	}
	if r, err := w.gate().Sweep(t.Context(), w.sweep(c.Until)); err != nil || len(r.Pending) != 0 || len(r.Opened) != 1 {
		t.Errorf("swept %+v, %v", r, err)
	}
	if left := w.windows(w.name); len(left) != 0 {
		t.Errorf("left over is %s", left)
	}
}
