package objectjson

import "testing"

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	const want = `{"a":9007199254740993,"b":[1,"é"],"c":{"d":null}}`
	o, err := Decode([]byte(` { "c":{"d":null}, "b":[1,"\u00e9"], "a":9007199254740993 } `))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Encode(o); err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestAnnotation(t *testing.T) {
	t.Parallel()
	const name = "pharos.dev/x"
	for doc, want := range map[string]struct {
		value   string
		ok, bad bool
	}{
		`{"metadata":{"annotations":{"pharos.dev/x":"true"}}}`:         {value: "true", ok: true},
		`{"metadata":{"annotations":{"pharos.dev/x":""}}}`:             {ok: true},
		`{"metadata":{"labels":{"pharos.dev/x":"true"}}}`:              {},
		`{"Metadata":{"Annotations":{"pharos.dev/x":"true"}}}`:         {},
		`{"metadata":{"annotations":{"pharos.dev/x":1}}}`:              {bad: true},
		`{"metadata":{"annotations":{"other":"says pharos.dev/x !"}}}`: {},
	} {
		value, ok, err := Annotation([]byte(doc), name)
		if value != want.value || ok != want.ok || (err != nil) != want.bad {
			t.Errorf("%s: %q, %t, %v", doc, value, ok, err)
		}
	}
}
