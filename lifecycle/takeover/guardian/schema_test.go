package guardian_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// definition compiles what the schema says of a kind of line.
func definition(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(guardian.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("takeover.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("takeover.json#/$defs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// conforms wants a value to be as the schema says, as JSON.
func conforms(t *testing.T, s *jsonschema.Schema, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(doc); err != nil {
		t.Errorf("%s: %v", text, err)
	}
}

// The schema lists the fields of every type that is sent, and no others: a field that
// is added to one has to be added here, too.
func TestSchemaFields(t *testing.T) {
	t.Parallel()
	var doc struct {
		Defs map[string]map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(guardian.Schema(), &doc); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	var look func(name string, of reflect.Type)
	look = func(name string, of reflect.Type) {
		if seen[name] {
			return
		}
		seen[name] = true
		def := doc.Defs[name]
		properties, _ := def["properties"].(map[string]any)
		if def["additionalProperties"] != false {
			t.Errorf("%s has other fields, too", name)
		}
		fields := fieldsOf(of)
		for field, typ := range fields {
			property, there := properties[field].(map[string]any)
			if !there {
				t.Errorf("%s lacks the field %s", name, field)
				continue
			}
			if items, ok := property["items"].(map[string]any); ok {
				property = items
			}
			ref, _ := property["$ref"].(string)
			for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
				typ = typ.Elem()
			}
			if typ.Kind() == reflect.Struct && typ != reflect.TypeFor[time.Time]() {
				look(strings.TrimPrefix(ref, "#/$defs/"), typ)
			}
		}
		for field := range properties {
			if _, there := fields[field]; !there {
				t.Errorf("%s has a field %s that is never sent", name, field)
			}
		}
	}
	look("line", reflect.TypeFor[guardian.Line]())
	look("request", reflect.TypeFor[guardian.Request]())
	for name := range doc.Defs {
		if !seen[name] && name != "step" {
			t.Errorf("%s is nothing that is sent", name)
		}
	}
	enum := func(of map[string]any) (list []string) {
		values, _ := of["enum"].([]any)
		for _, v := range values {
			list = append(list, v.(string))
		}
		return list
	}
	var types, steps []string
	for _, typ := range takeover.EventTypes() {
		types = append(types, string(typ))
	}
	for _, step := range journal.Steps() {
		steps = append(steps, string(step))
	}
	if got := enum(doc.Defs["event"]["properties"].(map[string]any)["type"].(map[string]any)); !slices.Equal(got, types) {
		t.Errorf("the types of event are %v, want %v", got, types)
	}
	slices.Sort(steps)
	got := enum(doc.Defs["step"])
	if slices.Sort(got); !slices.Equal(got, steps) {
		t.Errorf("the steps are %v, want %v", got, steps)
	}
}

// fieldsOf are the JSON fields of a struct.
func fieldsOf(of reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			fields[name] = f.Type
		}
	}
	return fields
}

func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	for definitionName, lines := range map[string][]string{
		"line": {`{"version":2,"type":"answer"}`, `{"version":1,"type":"secret"}`, `{"version":1,"type":"event"}`, `{"version":1,"type":"answer","environment":"DB=1"}`,
			`{"version":1,"type":"event","event":{"version":1,"type":"started","time":"2026-01-01T00:00:00Z","target":"devbox","token":"x"}}`},
		"request": {`{"op":"status"}`, `{"version":1,"op":"shell"}`, `{"version":1,"op":"status","more":1}`},
	} {
		s := definition(t, definitionName)
		for _, line := range lines {
			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
			if err != nil {
				t.Fatal(err)
			}
			if s.Validate(doc) == nil {
				t.Errorf("%s is let through", line)
			}
		}
	}
}
