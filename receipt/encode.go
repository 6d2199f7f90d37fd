package receipt

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxSize is the largest canonical form of a record or outcome, in bytes. It
// bounds what Parse reads and what a compressed record may grow to. A record
// of 10,000 objects has about 3 MiB.
const MaxSize = 16 << 20

// Canonical returns the bytes that the record's ID is the hash of: its JSON in
// the form of RFC 8785. The error is an *InvalidError if the record is not
// valid, or ErrTooLarge.
func (r Record) Canonical() ([]byte, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return canonical(r)
}

// ID returns the record's ID. The errors are Canonical's.
func (r Record) ID() (ID, error) {
	data, err := r.Canonical()
	if err != nil {
		return "", err
	}
	return idOf(data), nil
}

// Parse reads the canonical bytes of a record and returns it with its ID. It
// accepts what Canonical returns and nothing else: unknown and duplicate
// fields, other white space or order, and invalid records are an ErrInvalid,
// and more than MaxSize bytes ErrTooLarge. A caller that knows which ID it
// wants compares it with the one returned.
func Parse(data []byte) (Record, ID, error) {
	var r Record
	if len(data) > MaxSize {
		return Record{}, "", tooLarge("record", len(data))
	}
	// A record of a later version has fields that this one does not know: say
	// that it is later, rather than which field is unknown.
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return Record{}, "", fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if head.APIVersion != APIVersion || head.Kind != Kind {
		return Record{}, "", fmt.Errorf("%w: it is a %q of %q, and this version of Pharos reads a %s of %s",
			ErrInvalid, clip(head.Kind), clip(head.APIVersion), Kind, APIVersion)
	}
	if err := parse(data, &r, Record.Canonical); err != nil {
		return Record{}, "", err
	}
	return r, idOf(data), nil
}

// Canonical returns the outcome's JSON in the form of RFC 8785, its times in
// UTC. The error is an *InvalidError if the outcome is not valid, or
// ErrTooLarge.
func (o Outcome) Canonical() ([]byte, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return canonical(o.inUTC())
}

// ParseOutcome reads the canonical bytes of an outcome. Like Parse, it accepts
// nothing else.
func ParseOutcome(data []byte) (Outcome, error) {
	var o Outcome
	if len(data) > MaxSize {
		return Outcome{}, tooLarge("outcome", len(data))
	}
	if err := parse(data, &o, Outcome.Canonical); err != nil {
		return Outcome{}, err
	}
	return o.inUTC(), nil
}

// utc drops the location and the monotonic reading, which JSON does not keep,
// so that a value reads back equal to what was written.
func utc(t time.Time) time.Time { return t.UTC().Round(0) }

// inUTC returns the outcome with all its times as utc has them.
func (o Outcome) inUTC() Outcome {
	o.Time = utc(o.Time)
	o.Applications = slices.Clone(o.Applications) // the caller's own stay as they are
	for i := range o.Applications {
		a := &o.Applications[i]
		a.Finished, a.Reconciled = utc(a.Finished), utc(a.Reconciled)
	}
	return o
}

func canonical(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	value := jsontext.Value(data)
	if err := value.Canonicalize(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if len(value) > MaxSize {
		return nil, tooLarge("record", len(value))
	}
	return value, nil
}

// parse decodes data strictly and holds it against the canonical form of what
// it decoded to: one record has one encoding.
func parse[T any](data []byte, v *T, canonical func(T) ([]byte, error)) error {
	if err := json.Unmarshal(data, v, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	want, err := canonical(*v)
	if err != nil {
		return err
	}
	if !bytes.Equal(data, want) {
		return fmt.Errorf("%w: its bytes are not in canonical form (RFC 8785)", ErrInvalid)
	}
	return nil
}

func tooLarge(what string, size int) error {
	return fmt.Errorf("%w: the %s has %d bytes, the limit is %d", ErrTooLarge, what, size, MaxSize)
}
