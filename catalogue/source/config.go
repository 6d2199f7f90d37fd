package source

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
)

// setting is a line of a configuration file. Section and key are in lower case.
type setting struct{ section, subsection, key, value string }

// readConfig reads a configuration file as git-config(1), Syntax, has it. It
// does not judge what is set: git takes more than any list of ours would hold.
func readConfig(file string) ([]setting, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // everything is as by default
	}
	if err != nil {
		return nil, err
	}
	settings, err := parseConfig(data)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", file, err)
	}
	return settings, nil
}

// parseConfig's errors begin with the line.
func parseConfig(data []byte) (settings []setting, err error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	p := &configParser{data: bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))}
	line := func() int { return 1 + bytes.Count(p.data[:min(p.at, len(p.data))], []byte("\n")) }
	var at setting
	for {
		switch c := p.peek(); {
		case c == 0:
			return settings, nil
		case isSpace(c):
			p.at++
		case c == '#' || c == ';':
			p.skipLine()
		case c == '[':
			p.at++
			if at.section, at.subsection, err = p.header(); err != nil {
				return nil, fmt.Errorf("%d: %w", line(), err)
			}
		default:
			if at.key, at.value, err = p.variable(); err != nil {
				return nil, fmt.Errorf("%d: %w", line(), err)
			}
			settings = append(settings, at)
		}
	}
}

type configParser struct {
	data []byte
	at   int
}

// peek returns the next byte, 0 at the end.
func (p *configParser) peek() byte {
	if p.at >= len(p.data) {
		return 0
	}
	return p.data[p.at]
}

func (p *configParser) skipLine() {
	for c := p.peek(); c != 0 && c != '\n'; c = p.peek() {
		p.at++
	}
}

func (p *configParser) while(f func(byte) bool) string {
	start := p.at
	for c := p.peek(); c != 0 && f(c); c = p.peek() {
		p.at++
	}
	return string(p.data[start:p.at])
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
func isBlank(c byte) bool { return c != '\n' && isSpace(c) }
func isAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isKey(c byte) bool   { return isAlpha(c) || c >= '0' && c <= '9' || c == '-' }

// header reads [section], [section "subsection"] or the older [section.sub].
func (p *configParser) header() (section, subsection string, err error) {
	section = strings.ToLower(p.while(func(c byte) bool { return isKey(c) || c == '.' }))
	if isBlank(p.peek()) {
		p.while(isBlank)
		if subsection, err = p.subsection(); err != nil {
			return "", "", err
		}
	} else {
		section, subsection, _ = strings.Cut(section, ".")
	}
	if p.peek() != ']' {
		return "", "", errors.New("a section's header is not closed by ]")
	}
	p.at++
	return section, subsection, nil
}

func (p *configParser) subsection() (string, error) {
	if p.peek() != '"' {
		return "", errors.New("a subsection's name is not quoted")
	}
	var b strings.Builder
	for p.at++; p.peek() != '"'; p.at++ {
		if p.peek() == '\\' {
			p.at++
		}
		if c := p.peek(); c == 0 || c == '\n' {
			return "", errors.New("a subsection's name does not end")
		}
		b.WriteByte(p.peek())
	}
	p.at++
	return b.String(), nil
}

// variable reads key = value; a key alone is true.
func (p *configParser) variable() (key, value string, err error) {
	if !isAlpha(p.peek()) {
		return "", "", errors.New("a variable's name does not begin with a letter")
	}
	key = strings.ToLower(p.while(isKey))
	p.while(func(c byte) bool { return c == ' ' || c == '\t' })
	switch p.peek() {
	case 0, '\n':
		return key, "true", nil
	case '=':
		p.at++
		value, err = p.value()
		return key, value, err
	}
	return "", "", fmt.Errorf("no = follows the variable %s", key)
}

func (p *configParser) value() (string, error) {
	p.while(isBlank)
	var b strings.Builder
	quoted, end := false, 0 // end is where the value does, without blanks after it
	for ; ; p.at++ {
		c := p.peek()
		switch {
		case c == 0 || c == '\n':
			if quoted {
				return "", errors.New("a quoted value does not end")
			}
			return b.String()[:end], nil
		case !quoted && isBlank(c):
			b.WriteByte(c)
			continue
		case !quoted && (c == '#' || c == ';'):
			p.skipLine()
			return b.String()[:end], nil
		case c == '"':
			quoted = !quoted
		case c == '\\':
			p.at++
			switch c := p.peek(); c {
			case 0, '\n':
				// The value goes on in the next line; blanks before it stay.
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case 'b':
				b.WriteByte('\b')
			case '\\', '"':
				b.WriteByte(c)
			default:
				return "", fmt.Errorf("a value holds the unknown escape \\%c", c)
			}
		default:
			b.WriteByte(c)
		}
		end = b.Len()
	}
}
