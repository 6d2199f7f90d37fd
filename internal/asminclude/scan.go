package asminclude

import (
	"bytes"
	"strconv"
	"text/scanner"
	"unicode"
)

// include is one #include.
type include struct {
	line int
	name string // without quotes; empty if it is no name in quotes
}

// scan returns the includes of a source.
func scan(content []byte) []include {
	var s scanner.Scanner
	s.Init(bytes.NewReader(content))
	s.Mode = scanner.ScanChars | scanner.ScanFloats | scanner.ScanIdents | scanner.ScanInts | scanner.ScanStrings |
		scanner.ScanComments | scanner.SkipComments
	s.Whitespace = 1<<'\t' | 1<<'\r' | 1<<' '
	s.IsIdentRune = func(ch rune, i int) bool {
		return ch == '_' || ch == '·' || ch == '∕' || unicode.IsLetter(ch) || i > 0 && unicode.IsDigit(ch)
	}
	s.Error = func(*scanner.Scanner, string) {} // the assembler's to tell
	var found []include
	var before rune
	for tok := s.Scan(); tok != scanner.EOF; {
		if tok != scanner.Ident || s.TokenText() != "include" {
			before, tok = tok, s.Scan()
			continue
		}
		in := include{line: s.Position.Line}
		isDirective := before == '#'
		before, tok = tok, s.Scan()
		if name, err := strconv.Unquote(s.TokenText()); err == nil && isDirective && tok == scanner.String {
			in.name = name
		}
		found = append(found, in)
	}
	return found
}
