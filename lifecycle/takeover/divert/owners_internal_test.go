package divert

import (
	"testing"

	"github.com/pharos-dev/pharos/internal/objectjson"
)

// Whatever stands in managedFields, of the object now or before, giving fields back ends
// without a panic.
func FuzzDisown(f *testing.F) {
	const own = `[{"manager":"pharos.takeover","operation":"Update","fieldsV1":{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"api\"}":{"f:image":{}}}}}}}}]`
	const his = `[{"manager":"pharos-devbox","operation":"Apply","fieldsV1":{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"api\"}":{".":{},"f:image":{}}}}}}}}]`
	f.Add([]byte(own), []byte(his))
	f.Add([]byte(`[7,null,{"manager":"pharos-devbox","operation":"Apply"},`+own[1:]), []byte(his))
	f.Add([]byte(his), []byte(own))
	f.Fuzz(func(t *testing.T, now, was []byte) {
		object := func(fields []byte) []byte {
			return []byte(`{"metadata":{"uid":"u","managedFields":` + string(fields) + `},"spec":{"template":{"spec":{"containers":[{"name":"api","image":"x"}]}}}}`)
		}
		d := Diversion{Subject: Subject{Container: "api"}, UID: "u", Original: object(was), Values: []Value{{Field: "/image", Original: []byte(`"x"`), Agent: []byte(`"y"`)}}}
		raw, err := objectjson.Decode(object(now))
		if err != nil {
			return
		}
		if _, err := disown(deployment{raw: raw}, d); err != nil {
			if _, perr := parse("", object(was)); perr == nil {
				t.Error(err)
			}
		}
	})
}
