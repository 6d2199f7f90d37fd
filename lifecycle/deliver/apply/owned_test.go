package apply

import (
	"encoding/json"
	"testing"

	"sigs.k8s.io/yaml"
)

func readObject(t testing.TB, text string) object {
	t.Helper()
	j, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o, err := decodeObject(j)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestOwnedValues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, set, live, theirs, want string }{
		{"a field", `{f:a: {}}`, `{a: 1, b: 2}`, `{}`, `{"f:a":1}`},
		{"a field that is gone", `{f:a: {}}`, `{b: 2}`, `{}`, `{"gone f:a":true}`},
		{"null is not gone", `{f:a: {}}`, `{a: null}`, `{}`, `{"f:a":null}`},
		{"below a field that is no map", `{f:a: {f:b: {}}}`, `{a: 7}`, `{}`, `{"f:a":{"gone f:b":true}}`},
		{"an item by its keys", `{f:c: {'k:{"name":"x"}': {.: {}, f:image: {}}}}`, `{c: [{name: y, image: 1}, {name: x, image: 2, more: 3}]}`, `{}`,
			`{"f:c":{"k:{\"name\":\"x\"}":{"f:image":2}}}`},
		{"an item by two keys, one a number", `{f:p: {'k:{"port":80,"protocol":"TCP"}': {f:name: {}}}}`,
			`{p: [{port: 80, protocol: UDP, name: a}, {port: 80, protocol: TCP, name: b}]}`, `{}`,
			`{"f:p":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{"f:name":"b"}}}`},
		{"a member of a set", `{f:f: {'v:"x"': {}, 'v:"y"': {}}}`, `{f: [x, z]}`, `{}`, `{"f:f":{"gone v:\"y\"":true,"v:\"x\"":"x"}}`},
		{"the order of items", `{f:e: {'k:{"id":"a"}': {.: {}, f:id: {}}, 'k:{"id":"b"}': {.: {}, f:id: {}}}}`, `{e: [{id: b}, {id: other}, {id: a}]}`, `{}`,
			`{"f:e":{"k:{\"id\":\"a\"}":{"f:id":"a"},"k:{\"id\":\"b\"}":{"f:id":"b"},"order":["k:{\"id\":\"b\"}","k:{\"id\":\"a\"}"]}}`},
		{"the order of a set", `{f:f: {'v:"x"': {}, 'v:"w"': {}}}`, `{f: [w, z, x]}`, `{}`, `{"f:f":{"order":["v:\"w\"","v:\"x\""],"v:\"w\"":"w","v:\"x\"":"x"}}`},
		{"by index", `{f:l: {'i:1': {}, 'i:9': {}}}`, `{l: [a, b]}`, `{}`, `{"f:l":{"gone i:9":true,"i:1":"b"}}`},
		{"a map as a whole", `{f:s: {}}`, `{s: {a: 1}}`, `{}`, `{"f:s":{"a":1}}`},
		{"a map in which others have fields", `{f:s: {}}`, `{s: {a: 1}}`, `{f:s: {f:a: {}}}`, `{"f:s":{}}`},
		{"nothing", `{}`, `{a: 1}`, `{f:a: {}}`, `{}`},
		{"odd elements", `{f:a: 3, x: {}, 'k:{': {}, 'v:[': {}, 'i:x': {}, 'z:1': {}}`, `{a: [1]}`, `{}`,
			`{"f:a":[1],"gone i:x":true,"gone k:{":true,"gone v:[":true,"gone x":true,"gone z:1":true}`},
	} {
		got, err := json.Marshal(ownedValues(readObject(t, tt.set), readObject(t, tt.live), []fields{readObject(t, tt.theirs)}))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != tt.want {
			t.Errorf("%s:\n got  %s\n want %s", tt.name, got, tt.want)
		}
	}
}

const heldByTwo = `
metadata:
  managedFields:
  - {manager: pharos, operation: Update, time: "2025-12-31T00:00:00Z", fieldsV1: {f:data: {f:c: {}}}}
  - {manager: pharos, operation: Apply, time: "2026-01-01T00:00:00Z", fieldsV1: {f:data: {f:a: {}}}}
  - {manager: other, operation: Update, time: "2026-01-02T00:00:00Z", fieldsV1: {f:data: {f:b: {}}}}
  - {manager: kubelet, operation: Update, subresource: status, time: "2026-01-03T00:00:00Z", fieldsV1: {f:status: {}}}
data: {a: DATA, b: "2", c: "3"}`

func TestOwnedHash(t *testing.T) {
	t.Parallel()
	o := readObject(t, heldByTwo)
	hash := func() string {
		h, err := ownedHash(o, "pharos")
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	first := hash()
	// printf %s '{"f:data":{"f:a":"DATA"}}' | sha256sum
	if want := "sha256:5cc410ae9351f6c3eb4f740998d50977133fe9ba77b4a32cad8bfa6b52f3f1cd"; first != want {
		t.Errorf("got %s, want %s", first, want)
	}
	data := o["data"].(object)
	data["b"], data["c"] = "x", "y"
	if hash() != first {
		t.Error("a field of somebody else changed the hash")
	}
	data["a"] = "other"
	if hash() == first {
		t.Error("our field changed, the hash did not")
	}
	if r := driftReason(o, "pharos"); r != `fields that were applied have been changed, removed or taken over; since then "other" wrote .data.b` {
		t.Error(r)
	}
	if h, err := ownedHash(object{}, "pharos"); err != nil || h == first {
		t.Errorf("%s %v", h, err)
	}
}

func FuzzOwnedHash(f *testing.F) {
	f.Add(`{"f:data":{"f:a":{},"k:{\"n\":1}":{".":{}},"v:\"x\"":{},"i:0":{}}}`, `{"data":{"a":[{"n":1},"x",null,1.5]}}`)
	f.Add(`{"f:l":{"v:{}":{},"v:1e400":{},"k:{}":{},"i:-1":{},":":{}}}`, `{"l":[{},[[]],1e300]}`)
	f.Add(`[]`, `{"metadata":{"managedFields":3}}`)
	f.Fuzz(func(t *testing.T, set, live string) {
		s, err := decodeObject([]byte(set))
		if err != nil {
			return
		}
		o, err := decodeObject([]byte(live))
		if err != nil || o == nil {
			return
		}
		_ = managers(o)
		o["metadata"] = object{"managedFields": []any{object{"manager": "m", "operation": "Apply", "fieldsV1": s}}}
		one, err := ownedHash(o, "m")
		if err != nil {
			return // what RFC 8785 has no form for, such as lone surrogates
		}
		if two, err := ownedHash(o, "m"); err != nil || one != two {
			t.Errorf("%s, then %s, %v", one, two, err)
		}
		_ = driftReason(o, "other")
	})
}
