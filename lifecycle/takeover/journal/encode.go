package journal

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
)

// version is that of the format.
const version = 1

// document is a Document in its format.
type document struct {
	Version int `json:"version"`
	Document
}

// Encode writes a document as JSON. The same document gives the same bytes. The error
// matches ErrInvalid and has every rule that is broken.
func Encode(d Document) ([]byte, error) {
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("encode a session: %w: %w", ErrInvalid, err)
	}
	return json.Marshal(document{Version: version, Document: d}, json.Deterministic(true))
}

// Decode reads what Encode wrote, and nothing else. The error matches ErrDamaged, and
// ErrLater where a later version of Pharos has written it.
func Decode(data []byte) (Document, error) {
	var d document
	err := json.Unmarshal(data, &d, json.RejectUnknownMembers(true))
	if v := versionOf(data); v > version {
		return Document{}, fmt.Errorf("%w: %w: it is of version %d of the format, and this one knows %d", ErrDamaged, ErrLater, v, version)
	}
	switch {
	case err != nil:
	case d.Version != version:
		err = fmt.Errorf("it is of version %d of the format, want %d", d.Version, version)
	default:
		err = d.check()
	}
	if err != nil {
		return Document{}, fmt.Errorf("%w: %w", ErrDamaged, hidden(err))
	}
	return d.Document, nil
}

// versionOf is the version that something says it has, whatever else it says.
func versionOf(data []byte) int {
	var v struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return 0
	}
	return v.Version
}

// hidden is an error about JSON without what stands there: that may be the key.
func hidden(err error) error {
	if s, ok := errors.AsType[*json.SemanticError](err); ok {
		return fmt.Errorf("it is not of the format at %q", string(s.JSONPointer))
	}
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("it is no JSON of the format at byte %d", s.ByteOffset)
	}
	return err
}

// word is an ID.
var word = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// fields are those that a diversion replaces.
var fields = []string{"/image", "/command", "/args", "/livenessProbe/exec/command", "/readinessProbe/exec/command",
	"/startupProbe/exec/command", "/lifecycle/postStart/exec/command", "/lifecycle/preStop/exec/command"}

// check reports every rule that is broken.
func (d Document) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, f := range []struct{ name, value string }{{"session", d.Session}, {"cluster", d.Cluster}, {"holder", d.Holder}} {
		if !word.MatchString(f.value) {
			bad("%s is no word of at most 128 bytes", f.name)
		}
	}
	for _, f := range []struct{ name, value string }{{"target", d.Target}, {"namespace", d.Namespace}} {
		if len(validation.IsDNS1123Label(f.value)) > 0 {
			bad("%s is no name", f.name)
		}
	}
	if !slices.Contains(Steps(), d.Step) {
		bad("step %q is none", d.Step)
	}
	if d.Token < 0 || d.Silence < 0 || d.Silence > int64(maxSilence/time.Second) {
		bad("token or silence is out of its range")
	}
	times := []time.Time{d.Began}
	if d.Ending != nil {
		times = append(times, d.Ending.At)
	}
	for _, t := range times {
		if y := t.UTC().Year(); y < 1 || y > 9999 {
			bad("the year %d cannot be written", y)
		}
	}
	seen := map[string]bool{}
	for _, w := range d.Workloads {
		if s := w.Diversion.String(); seen[s] {
			bad("%s is there twice", s)
		} else {
			seen[s] = true
		}
		if err := w.check(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// maxSilence is far more than a lease lasts.
const maxSilence = 24 * time.Hour

// check reports every rule that is broken.
func (w Workload) check() error {
	d := w.Diversion
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", d.Subject, fmt.Sprintf(format, args...)))
	}
	if !slices.Contains([]State{Untouched, Diverting, HandedBack}, w.State) {
		bad("state %q is none", w.State)
	}
	if len(validation.IsDNS1123Label(d.Namespace)) > 0 || len(validation.IsDNS1123Subdomain(d.Name)) > 0 || len(validation.IsDNS1123Label(d.Container)) > 0 {
		bad("it is no name of a container")
	}
	if !word.MatchString(d.UID) {
		bad("uid is no word")
	}
	if len(d.Original) == 0 || d.Original[0] != '{' {
		bad("original is no object")
	}
	if len(d.Values) == 0 || d.Values[0].Field != "/image" {
		bad("values do not begin with the image")
	}
	for i, v := range d.Values {
		if !slices.Contains(fields, v.Field) || slices.ContainsFunc(d.Values[:i], func(other divert.Value) bool { return other.Field == v.Field }) {
			bad("%q is no field of its own that a diversion replaces", v.Field)
		}
		for _, doc := range [][]byte{v.Original, v.Agent} {
			if len(doc) == 0 || (v.Field == "/image") != (doc[0] == '"') || (v.Field != "/image") != (doc[0] == '[') {
				bad("a value of %s is not of its type", v.Field)
			}
		}
	}
	return errors.Join(errs...)
}
