package environment

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// forms returns how a secret may be written, each form at least as long as what is
// masked.
func forms(secret string) []string {
	if len(secret) < shortestSecret {
		return nil
	}
	list := []string{secret}
	for _, escape := range []func(string) string{url.QueryEscape, url.PathEscape} {
		list = append(list, escape(secret), lowerEscapes(escape(secret)))
	}
	list = append(list, quotedJSON(secret, true), quotedJSON(secret, false), inner(strconv.Quote(secret)), inner(strconv.QuoteToASCII(secret)))
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		list = append(list, alignments(secret, encoding)...)
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(form string) bool { return len(form) < shortestSecret })
}

// alignments returns what base64 makes of a secret that stands behind any number of
// bytes: of the first and last digits, those alone that the secret decides.
func alignments(secret string, encoding *base64.Encoding) []string {
	const group = 3
	var list []string
	for before := range group {
		text := encoding.EncodeToString(append(make([]byte, before), secret...))
		first := (before*8 + 5) / 6 // the digits that have bits of what is before
		last := (before + len(secret)) * 8 / 6
		if before == 0 && len(secret)%group != 0 {
			list = append(list, text) // alone, where the last digit is decided by it
		}
		if first < last {
			list = append(list, text[first:last])
		}
	}
	return list
}

// lowerEscapes writes percent-encoded bytes with lower-case digits.
func lowerEscapes(text string) string {
	b := []byte(text)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}

// quotedJSON is a string of JSON, without its quotes.
func quotedJSON(text string, html bool) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(html)
	if encoder.Encode(text) != nil {
		return ""
	}
	return inner(strings.TrimSuffix(b.String(), "\n"))
}

func inner(quoted string) string { return quoted[1 : len(quoted)-1] }
