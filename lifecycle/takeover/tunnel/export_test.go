package tunnel

import (
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/portforward"
)

// Only has a Tunnel connect by one protocol.
func Only(t *testing.T, r *Tunnel, p portforward.Protocol) {
	t.Helper()
	var err error
	if r.dialer, err = portforward.New(r.config.REST, portforward.Only(p)); err != nil {
		t.Fatal(err)
	}
}
