package ephemeral

import (
	"crypto/rand"
	"strings"
	"unicode"
)

const (
	longestName = 63
	suffix      = 10 // 50 bits
)

// name makes a new name for a namespace out of what it is for: "TestShop/Pays with a
// card" becomes "test-shop-pays-with-a-card-4mzq7k2xvb". Names begin with "test", since
// the system has names of its own. They are DNS labels (RFC 1123).
func name(of string) string {
	var b strings.Builder
	dash, lower := false, false // a dash is due; the last one was a small letter or digit
	for _, r := range of {
		small := r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		large := r >= 'A' && r <= 'Z'
		if !small && !large {
			dash, lower = true, false
			continue
		}
		if (dash || large && lower) && b.Len() > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
		dash, lower = false, small
	}
	s := b.String()
	if s != "test" && !strings.HasPrefix(s, "test-") {
		s = "test-" + s
	}
	s = s[:min(len(s), longestName-suffix-1)]
	return strings.TrimRight(s, "-") + "-" + strings.ToLower(rand.Text()[:suffix])
}
