package dockerfile

import (
	"errors"
	"strings"
	"testing"
)

func TestFrontend(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"FROM a":                               "",
		"# syntax=docker/dockerfile:1\nFROM a": "docker/dockerfile:1",
		"#SYNTAX = docker/dockerfile:1 \t\r\nFROM a":                        "docker/dockerfile:1",
		"#syntax=reg.example:5000/f:1-labs and more\nFROM a":                "reg.example:5000/f:1-labs",
		"\xef\xbb\xbf# escape=`\n# syntax=f@sha256:" + hex64 + "\nFROM a":   "f@sha256:" + hex64,
		"#!/usr/bin/env build\n# syntax=docker/dockerfile:1\nFROM a":        "docker/dockerfile:1",
		"# a comment\n# syntax=docker/dockerfile:1\nFROM a":                 "", // too late
		"\n# syntax=docker/dockerfile:1\nFROM a":                            "",
		"FROM a\n# syntax=docker/dockerfile:1":                              "",
		"# check=skip=all\n# syntax=docker/dockerfile:1\nFROM a\n# check=x": "docker/dockerfile:1",
	} {
		f, err := Parse("Dockerfile", []byte(content))
		if err != nil {
			t.Errorf("%q: %v", content, err)
		} else if f.Frontend != want {
			t.Errorf("%q: %q, want %q", content, f.Frontend, want)
		}
	}
}

const hex64 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, content string
		line          int
		reason        string
	}{
		{"empty", "", 0, "no instructions"},
		{"comments only", "# a\n# b\n", 2, "no instructions"},
		{"no FROM", "ARG A=1\n", 0, "has no FROM instruction"},
		{"before FROM", "RUN true\nFROM a\n", 1, "no build stage"},
		{"unknown instruction", "FROM a\n\nCOPPY a b\n", 3, "unknown instruction: COPPY"},
		{"too few words", "FROM a\nCOPY a\n", 2, "at least two arguments"},
		{"too many words", "FROM a b\n", 1, "one or three arguments"},
		{"name of a stage", "FROM a AS 1x\n", 1, "invalid name for build stage"},
		{"flag", "FROM a\nRUN true\nCOPY --form=b c d\n", 3, "form"},
		{"heredoc without end", "FROM a\nRUN <<EOF\ntrue\n", 2, "unterminated heredoc"},
		{"heredoc as destination", "FROM a\nCOPY b <<EOF\nEOF\n", 2, "cannot accept a heredoc"},
		{"mount", "FROM a\nRUN --mount=type=bind,from=$b,target=/c true\n", 2, "variable expansion"},
		{"escape", "# escape=x\nFROM a\n", 0, "invalid escape token"},
		{"directive twice", "# escape=`\n# escape=`\nFROM a\n", 1, "only one escape"},
		{"frontend", "# syntax=A/B\nFROM a\n", 1, `names "A/B", which is no image reference`},
		{"another language", "// syntax=example.org/other:1\nfunc main() {}\n", 1, "written for the frontend example.org/other:1"},
		{"JSON", `{"syntax": "example.org/other:1"}`, 1, "written for the frontend example.org/other:1"},
		{"binary", "\x00\xff\xfe", 1, "unknown instruction"},
		{"long line", "FROM a\nRUN " + strings.Repeat("x", 1<<17), 1, "line greater than max"},
		{"long word", strings.Repeat("x", 60_000) + " y\n", 1, "…"},
		{"onbuild of onbuild", "FROM a\nONBUILD ONBUILD RUN true\n", 2, "Chaining ONBUILD"},
		{"instructions", "FROM a\n" + strings.Repeat("ENV a=b\n", MaxInstructions), 0, "instructions, at most"},
		{"bytes", strings.Repeat("#\n", MaxSize/2+1), 0, "bytes, at most"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f, err := Parse("web/Dockerfile", []byte(tc.content))
			var parse *ParseError
			if !errors.As(err, &parse) || f != nil {
				t.Fatalf("%v, %v", f, err)
			}
			if parse.Path != "web/Dockerfile" || parse.Line != tc.line || !strings.Contains(parse.Reason, tc.reason) || len(parse.Reason) > 1000 {
				t.Errorf("%+v", parse)
			}
			if !strings.HasPrefix(err.Error(), "web/Dockerfile:") {
				t.Error(err)
			}
		})
	}
}

// Comments that mean something to BuildKit's linter stand anywhere.
func TestParseComments(t *testing.T) {
	t.Parallel()
	for _, comment := range []string{"# check=skip=all", "#check=error=true", "# check=experimental=all;skip=x", "# check=?", "#", "# a b"} {
		content := "FROM a AS b\n" + comment + "\nRUN true \\\n" + comment + "\n  && false\n" + comment + "\nONBUILD RUN <<EOF\n" + comment + "\nEOF\nFROM b\n" + comment + "\nARG c\n"
		p := planned(t, content, Options{})
		if len(p.Bases) != 1 {
			t.Errorf("%q: %v", comment, p.Bases)
		}
	}
}
