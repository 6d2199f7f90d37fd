package journal_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// The format does not change: what is written down today is read tomorrow.
func TestGolden(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile(filepath.Join("testdata", "v1.json"))
	if err != nil {
		t.Fatal(err)
	}
	want := document("pharos")
	want.Ending = &journal.Ending{By: "bob@lab", Reason: "his laptop is gone", At: time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC), Done: true}
	if got := encoded(t, want); got != strings.TrimSpace(string(golden)) {
		t.Errorf("got\n%s\nwant\n%s", got, golden)
	}
	got, err := journal.Decode(golden)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v\n%v", got, want, err)
	}
}

// All steps and states can be written and read.
func TestSteps(t *testing.T) {
	t.Parallel()
	for _, step := range journal.Steps() {
		for _, state := range []journal.State{journal.Untouched, journal.Diverting, journal.HandedBack} {
			d := document("pharos")
			d.Step, d.Workloads[0].State = step, state
			got, err := journal.Decode([]byte(encoded(t, d)))
			if err != nil || !reflect.DeepEqual(got, d) {
				t.Errorf("%s, %s: %+v, %v", step, state, got, err)
			}
		}
	}
	least := journal.Document{Session: "S", Target: "t", Namespace: "n", Cluster: "c", Holder: "h", Step: journal.Planned}
	if _, err := journal.Decode([]byte(encoded(t, least))); err != nil {
		t.Error(err)
	}
}

// What breaks a rule is neither written nor read, and all of it is said.
func TestInvalid(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*journal.Document){
		"session is no word":              func(d *journal.Document) { d.Session = "" },
		"holder is no word":               func(d *journal.Document) { d.Holder = "a b" },
		"cluster is no word":              func(d *journal.Document) { d.Cluster = strings.Repeat("x", 129) },
		"target is no name":               func(d *journal.Document) { d.Target = "../x" },
		"namespace is no name":            func(d *journal.Document) { d.Namespace = "" },
		"step \"\" is none":               func(d *journal.Document) { d.Step = "" },
		"out of its range":                func(d *journal.Document) { d.Silence = -1 },
		"the year 10000":                  func(d *journal.Document) { d.Began = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"is there twice":                  func(d *journal.Document) { d.Workloads = append(d.Workloads, d.Workloads[0]) },
		"state \"\" is none":              func(d *journal.Document) { d.Workloads[0].State = "" },
		"no name of a container":          func(d *journal.Document) { d.Workloads[0].Diversion.Name = "x/../y" },
		"uid is no word":                  func(d *journal.Document) { d.Workloads[0].Diversion.UID = "" },
		"original is no object":           func(d *journal.Document) { d.Workloads[0].Diversion.Original = []byte("[]") },
		"do not begin with the image":     func(d *journal.Document) { d.Workloads[0].Diversion.Values = d.Workloads[0].Diversion.Values[1:] },
		`"/name" is no field`:             func(d *journal.Document) { d.Workloads[0].Diversion.Values[1].Field = "/name" },
		`"/image" is no field of its own`: func(d *journal.Document) { d.Workloads[0].Diversion.Values[1] = d.Workloads[0].Diversion.Values[0] },
		"is not of its type":              func(d *journal.Document) { d.Workloads[0].Diversion.Values[0].Original = []byte("7") },
	} {
		d := document("pharos")
		d.Workloads[0].Diversion.Values = append([]divert.Value(nil), d.Workloads[0].Diversion.Values...)
		change(&d)
		if _, err := journal.Encode(d); !errors.Is(err, journal.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := journal.Encode(journal.Document{}); err == nil || strings.Count(err.Error(), "\n") != 5 {
		t.Errorf("got %v", err)
	}
}

func TestDamaged(t *testing.T) {
	t.Parallel()
	good := encoded(t, document("pharos"))
	for name, tt := range map[string]struct {
		doc   string
		later bool
	}{
		"nothing": {"", false}, "half": {good[:len(good)/2], false}, "more": {good + "{}", false}, "a list": {"[]", false},
		"an unknown field":      {strings.Replace(good, `"session"`, `"sezzion"`, 1), false},
		"a field twice":         {strings.Replace(good, `{`, `{"session":"S2",`, 1), false},
		"another type":          {strings.Replace(good, `"token":7`, `"token":"7"`, 1), false},
		"no version":            {strings.Replace(good, `"version":1,`, ``, 1), false},
		"version 0":             {strings.Replace(good, `"version":1`, `"version":0`, 1), false},
		"an unknown step":       {strings.Replace(good, `"step":"diverted"`, `"step":"teleported"`, 1), false},
		"a later version":       {strings.Replace(good, `"version":1`, `"version":2,"more":{"a":[1]}`, 1), true},
		"a later version alone": {`{"version":9}`, true},
	} {
		_, err := journal.Decode([]byte(tt.doc))
		if !errors.Is(err, journal.ErrDamaged) || errors.Is(err, journal.ErrLater) != tt.later {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%s: the error has the key: %v", name, err)
		}
	}
}

// However a document is printed, neither its key nor its workloads are.
func TestPrintedWithoutSecrets(t *testing.T) {
	t.Parallel()
	d := document("pharos")
	var b strings.Builder
	log := slog.New(slog.NewJSONHandler(&b, nil))
	log.Info("x", "d", d)
	log.Info("x", "d", d.Workloads[0].Diversion)
	fmt.Fprintf(&b, "%v %+v %s %v %+v", d, d, d, d.Workloads[0], journal.Session{Document: d})
	if strings.Contains(b.String(), "CANARY") || strings.Contains(b.String(), "/bin/api") || !strings.Contains(b.String(), "session S1 of target devbox at step diverted") {
		t.Errorf("printed is %s", b.String())
	}
}

// Whatever stands there is read without a panic, and what is read is written the same.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(encoded(f, document("pharos"))))
	f.Add([]byte(`{"version":2}`))
	f.Add([]byte(`{"version":1,"workloads":[{"state":"untouched","diversion":{"values":[{"field":"/image","original":null}]}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := journal.Decode(data)
		if err != nil {
			if !errors.Is(err, journal.ErrDamaged) {
				t.Errorf("got %v", err)
			}
			return
		}
		once, err := journal.Encode(d)
		if err != nil {
			t.Fatal(err)
		}
		again, err := journal.Decode(once)
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := journal.Encode(again); err != nil || string(twice) != string(once) {
			t.Errorf("%s becomes %s, %v", once, twice, err)
		}
	})
}
