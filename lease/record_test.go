package lease

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"

	"github.com/pharos-dev/pharos/internal/keys"
)

// What anybody may have written into a Lease does not command a terminal.
func TestStateIsFitToBePrinted(t *testing.T) {
	t.Parallel()
	const bad = "ann\x1b[2J\r\n\u202eevil\xff\x00"
	l := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To(bad)}}
	l.Annotations = map[string]string{keys.LeaseMode: bad, keys.LeaseUser: bad, keys.LeasePurpose: strings.Repeat("ü", 1000)}
	s := stateOf(l, time.Now(), time.Second)
	if s.Holder != bad {
		t.Errorf("the holder's ID is %q: it would not be recognised", s.Holder)
	}
	byID := s
	byID.User = ""
	for _, text := range []string{string(s.Mode), s.User, s.Purpose, s.Who(), byID.Who(), (&HeldError{State: byID}).Error(), notOurs(byID, "another")} {
		if strings.ContainsAny(text, "\x1b\r\n\u202e\x00") || !utf8.ValidString(text) || len(text) > 2*maxText {
			t.Errorf("%q is not fit to be printed", text)
		}
	}
	if !strings.HasPrefix(s.User, "ann") || !strings.Contains(s.User, "evil") {
		t.Errorf("the user is %q", s.User)
	}
}
