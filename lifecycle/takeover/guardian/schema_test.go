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

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
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

// Every type of event, with all that it can have, is as the schema says: so are its
// statuses, logs and answers of every class.
func TestSchemaOfAll(t *testing.T) {
	t.Parallel()
	s := definition(t, "line")
	var e takeover.Event
	fill(t, reflect.ValueOf(&e).Elem())
	e.Class = "blocked"
	for _, typ := range takeover.EventTypes() {
		e.Version, e.Type = takeover.EventVersion, typ
		conforms(t, s, guardian.Line{Version: guardian.Version, Type: guardian.LineEvent, ID: "1", Event: &e})
		conforms(t, s, guardian.Line{Version: guardian.Version, Type: guardian.LineEvent, Event: &takeover.Event{Version: takeover.EventVersion, Type: typ, Time: time.Now(), Target: "devbox"}})
	}
	for _, phase := range []runtime.Phase{runtime.Building, runtime.Starting, runtime.Serving, runtime.Swapping, runtime.Failed, runtime.Crashed, runtime.Parked, runtime.Stopped} {
		var st guardian.Status
		fill(t, reflect.ValueOf(&st).Elem())
		st.Workloads[0].Process.Phase = phase
		conforms(t, s, guardian.Line{Version: guardian.Version, Type: guardian.LineStatus, Status: &st})
	}
	for _, typ := range []runtime.EventType{runtime.EventChanged, runtime.EventPolling, runtime.EventBuilding, runtime.EventBuilt, runtime.EventBuildFailed, runtime.EventStarted, runtime.EventReady,
		runtime.EventSilent, runtime.EventSignalled, runtime.EventStopping, runtime.EventStopped, runtime.EventCrashed, runtime.EventParked, runtime.EventTrouble} {
		e.Type, e.Process.Type = takeover.EventProcess, typ
		conforms(t, s, guardian.Line{Version: guardian.Version, Type: guardian.LineEvent, Event: &e})
	}
	for _, err := range []error{takeover.ErrUnchanged, takeover.ErrUnknownWorkload, lifecycle.ErrBlocked, lifecycle.ErrSource, &catalogue.ProblemsError{List: []*catalogue.Problem{{File: ".env", Message: "is not UTF-8"}}},
		lifecycle.ErrUnhealthy, lifecycle.ErrUnreachable} {
		class := takeover.ClassOf(err)
		if class == "" || takeover.ErrorOf(class) == nil {
			t.Errorf("%v is of class %q", err, class)
		}
		conforms(t, s, guardian.Line{Version: guardian.Version, Type: guardian.LineAnswer, Error: err.Error(), Class: class})
	}
	conforms(t, s, guardian.Line{Version: guardian.Version, Type: guardian.LineLog, Log: &guardian.LogLine{Time: time.Now(), Source: "api", Text: "x"}})
}

// fill sets all that a value has.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	known := map[reflect.Type]any{
		reflect.TypeFor[time.Time](): time.Now(), reflect.TypeFor[journal.Step](): journal.Serving, reflect.TypeFor[takeover.State](): takeover.StateServing,
		reflect.TypeFor[runtime.Phase](): runtime.Serving, reflect.TypeFor[runtime.EventType](): runtime.EventReady,
	}
	if is, ok := known[v.Type()]; ok {
		v.Set(reflect.ValueOf(is))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				fill(t, v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8, reflect.Uint16:
		v.SetUint(7)
	default:
		t.Fatalf("what is a %s?", v.Type())
	}
}
