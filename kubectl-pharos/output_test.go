package main

import (
	"bytes"
	"errors"
	"testing"
)

// What others wrote must not speak to the terminal of who reads it.
func TestLinesHoldNoControlCharacters(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, want string }{
		{"web -> \x1b[31m\x1b]0;title\a", `web -> \x1b[31m\x1b]0;title\a`},
		{"site/a\rb\x7f\u009b31m", `site/a\rb\x7f\u009b31m`},
		{"user\u202efdp.exe \u2066", `user\u202efdp.exe \u2066`},
		{"\xff\x9b31m", `\xff\x9b31m`},
		{"first\n  second\tthird", "first\n  second\tthird"},
		{"größe 大小 \ufffd 👩‍💻", "größe 大小 \ufffd 👩‍💻"},
	} {
		var out bytes.Buffer
		linef(&out, "note: %s", tc.text)
		if want := "note: " + tc.want + "\n"; out.String() != want {
			t.Errorf("%q is written as %q, want %q", tc.text, out.String(), want)
		}
		out.Reset()
		report(t.Context(), &out, errors.New(tc.text))
		if want := "error: " + tc.want + "\n"; out.String() != want {
			t.Errorf("the error %q is written as %q, want %q", tc.text, out.String(), want)
		}
		out.Reset()
		p := &progress{w: &out, verbose: true}
		if _, err := p.output("api").Write([]byte(tc.text + "\r\n")); err != nil {
			t.Fatal(err)
		}
		if bytes.ContainsAny(out.Bytes(), "\x1b\r\a") {
			t.Errorf("what a tool printed is written as %q", out.String())
		}
	}
}
