package receipt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

const idPrefix = "sha256:"

// ParseID returns s as an ID: "sha256:" and 64 lower-case hexadecimal digits.
// Anything else is an ErrInvalid.
func ParseID(s string) (ID, error) {
	if !isDigest(s) {
		return "", fmt.Errorf("%w: %q is no receipt ID: want sha256: and 64 lower-case hexadecimal digits", ErrInvalid, clip(s))
	}
	return ID(s), nil
}

// Hex returns the hexadecimal digits of an ID, without "sha256:".
func (id ID) Hex() string { return strings.TrimPrefix(string(id), idPrefix) }

// Short returns the first 12 hexadecimal digits of an ID, for people. It is
// not enough to name a receipt by.
func (id ID) Short() string {
	h := id.Hex()
	return h[:min(len(h), 12)]
}

func idOf(canonical []byte) ID {
	sum := sha256.Sum256(canonical)
	return ID(idPrefix + hex.EncodeToString(sum[:]))
}

// isDigest reports whether s is "sha256:" and 64 lower-case hexadecimal digits.
func isDigest(s string) bool {
	h, ok := strings.CutPrefix(s, idPrefix)
	return ok && len(h) == 2*sha256.Size && isHex(h)
}

// isHex reports whether s holds lower-case hexadecimal digits only.
func isHex(s string) bool {
	return strings.Trim(s, "0123456789abcdef") == ""
}

// clip keeps what a message quotes short.
func clip(s string) string {
	const limit = 80
	if len(s) <= limit {
		return s
	}
	return s[:limit] + "…"
}
