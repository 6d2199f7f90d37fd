package lease

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	for _, text := range []string{string(s.Mode), s.User, s.Purpose, s.Who(), byID.Who(), (&HeldError{State: byID}).Error(), notOurs(reading{lease: l}, byID, "another")} {
		if strings.ContainsAny(text, "\x1b\r\n\u202e\x00") || !utf8.ValidString(text) || len(text) > 2*maxText {
			t.Errorf("%q is not fit to be printed", text)
		}
	}
	if !strings.HasPrefix(s.User, "ann") || !strings.Contains(s.User, "evil") {
		t.Errorf("the user is %q", s.User)
	}
}

// FuzzState reads whatever anybody may have written into a Lease: what comes of
// it is fit to be printed, and no holder is overlooked.
func FuzzState(f *testing.F) {
	f.Add("holder", "borrow", "ann@laptop", "debug", `["api","web"]`, `{"by":"a","reason":"b","at":"2026-03-04T05:06:07Z","holder":"holder"}`, int64(0), int32(1200), int32(1))
	f.Add("", "", "", "", "null", "null", int64(1)<<62, int32(-1), int32(-1))
	f.Add("\x00", "\x1b[2J", "\u202e", "\xff", `["a\n"]`, `{"by":"\u001b","reason":"\n","at":"9999-12-31T23:59:59+23:59","holder":"h"}`, int64(-1)<<62, int32(1<<31-1), int32(1<<31-1))
	f.Add("h", "", "", "", "", `{"by":"a","reason":"b","at":"9999-12-31T23:59:59-23:59","holder":"h"}`, int64(253402300799), int32(1), int32(1))
	f.Fuzz(func(t *testing.T, holder, mode, user, purpose, covers, broken string, renewed int64, seconds, transitions int32) {
		l := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: &seconds, LeaseTransitions: &transitions,
			RenewTime: &metav1.MicroTime{Time: time.Unix(renewed, 0)},
		}}
		l.Annotations = map[string]string{
			keys.LeaseMode: mode, keys.LeaseUser: user, keys.LeasePurpose: purpose, keys.LeaseCovers: covers, keys.LeaseBroken: broken,
		}
		now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
		s := stateOf(l, now, time.Second)
		if s.Holder != holder || s.Held && holder == "" {
			t.Errorf("the holder %q is read as %+v", holder, s)
		}
		texts := append([]string{string(s.Mode), s.User, s.Purpose, s.Who(), notOurs(reading{lease: l}, s, "another"), notOurs(reading{lease: l}, s, holder)}, s.Covers...)
		if b := s.Broken; b != nil {
			texts = append(texts, b.By, b.Reason, b.User, b.String(), notHeld(State{Broken: b}).Error())
			again, err := b.encode()
			if err != nil {
				t.Fatalf("%+v cannot be written: %v", b, err)
			}
			if read := parseBroken(again); read == nil || *read != *b {
				t.Errorf("%+v is written as %s and read as %+v", b, again, read)
			}
		}
		if _, err := json.Marshal(s); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
		if !s.Held && holder != "" && s.Expires.IsZero() {
			t.Errorf("held without an end, and free: %+v", s)
		}
		for _, text := range texts {
			if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
				t.Errorf("%q is not fit to be printed", text)
			}
		}
	})
}
