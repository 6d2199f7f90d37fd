package wire_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

const key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

func session() wire.Session {
	return wire.Session{
		Version: wire.Version, ID: "b7e1", Key: key, Control: wire.DefaultControl,
		Ports: []wire.Port{
			{Number: 8080, Name: "http", Probes: []string{wire.ProbeGRPC, wire.ProbeHTTP}},
			{Number: 9090},
		},
		Workload: "Deployment shop/api", Holder: "ann@laptop",
		Since: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC),
		Away:  wire.DefaultAway, Drain: wire.DefaultDrain, Grace: wire.Duration(30 * time.Second),
	}
}

const golden = `{"version":1,"id":"b7e1","key":"` + key + `","control":47811,` +
	`"ports":[{"number":8080,"name":"http","probes":["grpc","http"]},{"number":9090}],` +
	`"workload":"Deployment shop/api","holder":"ann@laptop","since":"2026-11-30T09:00:00Z",` +
	`"away":"20s","drain":"5s","grace":"30s"}` + "\n"

func TestSessionGolden(t *testing.T) {
	t.Parallel()
	doc, err := session().Encode()
	if err != nil {
		t.Fatal(err)
	}
	if string(doc) != golden {
		t.Errorf("got  %swant %s", doc, golden)
	}
	parsed, err := wire.ParseSession(doc)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(parsed, session()) {
		t.Errorf("read back %+v", parsed)
	}
}

func TestSessionWithoutPorts(t *testing.T) {
	t.Parallel()
	s := session()
	s.Ports = nil
	doc, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wire.ParseSession(doc); err != nil {
		t.Error(err)
	}
}

func TestParseSessionRefusesOtherSpellings(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string][2]string{
		"unknown field":  {`"version":1`, `"version":1,"more":2`},
		"repeated field": {`"version":1`, `"version":1,"version":1`},
		"other case":     {`"version"`, `"Version"`},
		"space":          {`"version":1`, `"version": 1`},
		"missing field":  {`"holder":"ann@laptop",`, ``},
		"null ports":     {`"ports":[{"number":8080,"name":"http","probes":["grpc","http"]},{"number":9090}]`, `"ports":null`},
		"empty probes":   {`{"number":9090}`, `{"number":9090,"probes":[]}`},
		"other duration": {`"20s"`, `"0m20s"`},
		"no newline":     {"}\n", "}"},
		"after it":       {"}\n", "}\n{}"},
		"other version":  {`"version":1`, `"version":2`},
	} {
		doc := strings.Replace(golden, replace[0], replace[1], 1)
		if doc == golden {
			t.Fatalf("%s: nothing replaced", name)
		}
		if _, err := wire.ParseSession([]byte(doc)); !errors.Is(err, wire.ErrSession) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEncodeNamesAllThatIsWrong(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(*wire.Session){
		"version 0":       func(s *wire.Session) { s.Version = 0 },
		"id":              func(s *wire.Session) { s.ID = "a b" },
		"key":             func(s *wire.Session) { s.Key += " ann@laptop" },
		"control":         func(s *wire.Session) { s.Control = 0 },
		"of the stream":   func(s *wire.Session) { s.Control = 8080 },
		"come after":      func(s *wire.Session) { s.Ports[1].Number = 8080 },
		"name":            func(s *wire.Session) { s.Ports[0].Name = "A" },
		"probes":          func(s *wire.Session) { s.Ports[0].Probes = []string{"http", "grpc"} },
		"65 ports":        func(s *wire.Session) { s.Ports = make([]wire.Port, 65) },
		"workload":        func(s *wire.Session) { s.Workload = "a\r\nb" },
		"holder":          func(s *wire.Session) { s.Holder = "" },
		"since":           func(s *wire.Session) { s.Since = s.Since.Add(time.Millisecond) },
		"away":            func(s *wire.Session) { s.Away = 0 },
		"away is not bet": func(s *wire.Session) { s.Away = wire.Duration(2 * wire.KeepaliveInterval) },
		"grace":           func(s *wire.Session) { s.Grace = -1 },
		"half of grace":   func(s *wire.Session) { s.Drain = s.Grace },
		"drain is not be": func(s *wire.Session) { s.Drain = -1 },
	} {
		s := session()
		spoil(&s)
		_, err := s.Encode()
		if !errors.Is(err, wire.ErrSession) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	s := session()
	s.ID, s.Holder = "", ""
	if _, err := s.Encode(); !strings.Contains(err.Error(), "id") || !strings.Contains(err.Error(), "holder") {
		t.Errorf("not both: %v", err)
	}
}

func TestControlPortIsNoneOfThePorts(t *testing.T) {
	t.Parallel()
	if got := wire.ControlPort([]wire.Port{{Number: 47811}, {Number: 47812}}); got != 47813 {
		t.Error(got)
	}
}

func TestDrainFor(t *testing.T) {
	t.Parallel()
	if got := wire.DrainFor(4 * time.Second); got != wire.Duration(2*time.Second) {
		t.Error(got)
	}
	if got := wire.DrainFor(time.Minute); got != wire.DefaultDrain {
		t.Error(got)
	}
}

func FuzzParseSession(f *testing.F) {
	f.Add([]byte(golden))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		s, err := wire.ParseSession(doc)
		if err != nil {
			if !errors.Is(err, wire.ErrSession) {
				t.Fatalf("not ErrSession: %v", err)
			}
			return
		}
		again, err := s.Encode()
		if err != nil || !bytes.Equal(again, doc) {
			t.Fatalf("%q is written as %q, %v", doc, again, err)
		}
	})
}
