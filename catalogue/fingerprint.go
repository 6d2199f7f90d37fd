package catalogue

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// FingerprintSchema is the first line of what a fingerprint is the hash of. It
// changes with the encoding or the meaning of a field, and with it every
// fingerprint.
const FingerprintSchema = "pharos.fingerprint/v1"

// The versions of the builders, as they enter fingerprints. One is raised when
// its builder makes a different image of the same recipe and inputs.
const (
	GoBuilderVersion         = "1"
	DockerfileBuilderVersion = "1"
	FilesBuilderVersion      = "1"
)

// ErrPreimage is matched by the error of ComputeFingerprint for fields that no
// fingerprint can be computed of.
var ErrPreimage = errors.New("not a preimage of a fingerprint")

// ErrNoFingerprint is matched by the error of ParseFingerprint.
var ErrNoFingerprint = errors.New("not a fingerprint")

// ParseFingerprint checks that text is a fingerprint: "sha256:" and 64
// lower-case hexadecimal digits. The error matches ErrNoFingerprint.
func ParseFingerprint(text string) (Fingerprint, error) {
	digits, ok := strings.CutPrefix(text, "sha256:")
	if !ok || len(digits) != 2*sha256.Size || strings.Trim(digits, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%w: %q is not \"sha256:\" with %d lower-case hexadecimal digits", ErrNoFingerprint, text, 2*sha256.Size)
	}
	return Fingerprint(text), nil
}

// ComputeFingerprint hashes a preimage, whose fields may come in any order, as
// the package comment says. It does not change the slice. The error matches
// ErrPreimage if there is no field, a key is empty, or two are the same.
func ComputeFingerprint(preimage []Field) (Fingerprint, error) {
	encoded, err := encodePreimage(preimage)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(encoded)
	return Fingerprint("sha256:" + hex.EncodeToString(sum[:])), nil
}

func encodePreimage(preimage []Field) ([]byte, error) {
	if len(preimage) == 0 {
		return nil, fmt.Errorf("%w: it has no fields", ErrPreimage)
	}
	sorted := slices.Clone(preimage)
	sortFields(sorted)
	out := []byte(FingerprintSchema + "\n")
	for i, f := range sorted {
		switch {
		case f.Key == "":
			return nil, fmt.Errorf("%w: the field with value %q has no key", ErrPreimage, f.Value)
		case i > 0 && sorted[i-1].Key == f.Key:
			return nil, fmt.Errorf("%w: the key %q stands twice", ErrPreimage, f.Key)
		}
		out = appendNetstring(out, f.Key)
		out = appendNetstring(out, f.Value)
		out = append(out, '\n')
	}
	return out, nil
}

// appendNetstring is https://cr.yp.to/proto/netstrings.txt.
func appendNetstring(out []byte, s string) []byte {
	out = strconv.AppendInt(out, int64(len(s)), 10)
	out = append(out, ':')
	out = append(out, s...)
	return append(out, ',')
}

func sortFields(fields []Field) {
	slices.SortFunc(fields, func(a, b Field) int { return cmp.Compare(a.Key, b.Key) })
}
