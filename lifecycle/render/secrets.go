package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
)

// ErrPlainSecret is returned for a Secret whose values stand in the tree in plain
// text. See [PlainSecretError].
var ErrPlainSecret = errors.New("the values of a Secret stand in Git in plain text")

// PlainSecretError names a Secret whose values anybody reads who may read the
// repository, now and in every clone of it. A [Problem] around it says in which
// file. An empty value is none, and neither is one that SOPS encrypted, in a Secret
// with all that SOPS writes beside the values; other forms for Git, such as a
// SealedSecret or an ExternalSecret, are objects of another kind.
type PlainSecretError struct {
	Object string   // "Secret shop/db"
	Keys   []string // of the values; sorted
}

func (e *PlainSecretError) Error() string {
	of := "of " + strings.Join(e.Keys, ", ")
	if len(e.Keys) == 1 {
		return fmt.Sprintf("%s: its value %s stands in Git in plain text", e.Object, of)
	}
	return fmt.Sprintf("%s: its values %s stand in Git in plain text", e.Object, of)
}

// Is reports that a PlainSecretError is an ErrPlainSecret.
func (e *PlainSecretError) Is(target error) bool { return target == ErrPlainSecret }

// plainSecret is a rendered Secret with values.
type plainSecret struct {
	object lifecycle.Object
	keys   []string
}

// plainSecretOf returns what is wrong with a Secret, nil if it has no values or
// says that they are harmless.
func plainSecretOf(o lifecycle.Object, content map[string]any) *plainSecret {
	if o.Group != "" || o.Kind != "Secret" {
		return nil
	}
	metadata, _ := content["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations[keys.SecretValues] == keys.SecretValuesHarmless {
		return nil
	}
	found := plainKeys(content)
	// A copy that kubectl apply has left holds all values once more.
	if copied, ok := annotations[lastApplied].(string); ok {
		var o map[string]any
		if err := json.Unmarshal([]byte(copied), &o); err != nil || len(plainKeys(o)) > 0 {
			found[lastApplied] = true
		}
	}
	if len(found) == 0 {
		return nil
	}
	return &plainSecret{object: o, keys: slices.Sorted(maps.Keys(found))}
}

// lastApplied is where kubectl's client-side apply keeps a whole object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// plainKeys are the keys of a Secret whose values can be read. Readers of JSON
// there are that do not mind the case of a field's name.
func plainKeys(content map[string]any) map[string]bool {
	found := map[string]bool{}
	sealed := sealed(content)
	for field, is := range content {
		if !slices.ContainsFunc(secretFields, func(f string) bool { return strings.EqualFold(f, field) }) {
			continue
		}
		values, ok := is.(map[string]any)
		if !ok && plainValue(is, sealed) {
			found[field] = true // of no form that a Secret has
		}
		for key, value := range values {
			if plainValue(value, sealed) {
				found[key] = true
			}
		}
	}
	return found
}

// secretFields are the fields of a Secret that hold values.
var secretFields = []string{"data", "stringData"}

// plainValue says whether a value can be read. In a document of SOPS it may be
// encrypted.
func plainValue(v any, sealed bool) bool {
	if v == nil || v == "" {
		return false
	}
	s, ok := v.(string)
	return !ok || !sealed || !encrypted(s)
}

// plainSecrets returns a *Problem for each file that values of the Secrets
// stand in.
func (s *scanner) plainSecrets(overlay string, secrets []*plainSecret) error {
	var errs []error
	for _, p := range secrets {
		rest := map[string]bool{}
		for _, key := range p.keys {
			rest[key] = true
		}
		for _, f := range s.findValues(p) {
			for _, key := range f.keys {
				delete(rest, key)
			}
			errs = append(errs, &Problem{File: f.file, Line: f.line, Field: f.field, Err: p.error(f.keys)})
		}
		if len(rest) > 0 {
			errs = append(errs, &Problem{File: overlay, Err: p.error(slices.Sorted(maps.Keys(rest)))})
		}
	}
	return errors.Join(errs...)
}

func (p *plainSecret) error(keys []string) error {
	return &PlainSecretError{Object: objectName(p.object), Keys: keys}
}
