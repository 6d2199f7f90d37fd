package strictyaml

import (
	"bytes"
	"errors"
	"testing"
)

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"name: a\nflag: true\nlist: [b]\nvalues: {k: v}\nnested: {deep: one}\n", "a: &x [*x]\n", "- ! x\n", "? {a: b}\n: c\n", "a: |\n  b\n", "\ufeff%YAML 1.1\n---\na\n...\n---\n- b", "<<: {a: b}", "a: **", "'\\", "\"\\U0010FFFF\"",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, err := Parse("f", data)
		lines := bytes.Count(data, []byte("\n")) + 1
		if err != nil {
			if len(docs) > 0 {
				t.Error("documents beside an error")
			}
			checkErrors(t, err, lines)
			return
		}
		for _, d := range docs {
			d.Peek("name")
			readForm(new(form))(d.Root())
			if err := d.Err(); err != nil {
				checkErrors(t, err, lines)
			}
		}
	})
}

// checkErrors checks that every problem has a place that is in the file.
func checkErrors(t *testing.T, err error, lines int) {
	t.Helper()
	all, ok := errors.AsType[*Errors](err)
	if !ok || len(all.List) == 0 {
		t.Fatalf("a %T without problems: %v", err, err)
	}
	for _, e := range all.List {
		if e.File != "f" || e.Message == "" || e.Line < 0 || e.Line > lines || e.Column < 0 {
			t.Errorf("a problem that is nowhere in the %d lines: %+v", lines, e)
		}
	}
}
