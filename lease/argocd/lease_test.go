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
