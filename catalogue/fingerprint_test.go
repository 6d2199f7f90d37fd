package catalogue

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// vector is a fingerprint with the bytes that it is the hash of. The vectors
// pin the encoding for good: to change it is to change FingerprintSchema, and
// to add vectors.
type vector struct {
	Name        string
	Preimage    []Field
	Encoded     string
	Fingerprint Fingerprint
}

func vectors(t *testing.T) []vector {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "fingerprints.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("there are no vectors")
	}
	return all
}

func TestFingerprintVectors(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t) {
		encoded, err := encodePreimage(v.Preimage)
		if err != nil || string(encoded) != v.Encoded {
			t.Errorf("%s: encoded as %q, %v", v.Name, encoded, err)
		}
		backwards := slices.Clone(v.Preimage)
		slices.Reverse(backwards)
		for _, preimage := range [][]Field{v.Preimage, backwards} {
			if got, err := ComputeFingerprint(preimage); err != nil || got != v.Fingerprint {
				t.Errorf("%s: %s, %v", v.Name, got, err)
			}
		}
		if out := shell(t, v.Encoded, "sha256sum"); !strings.HasPrefix("sha256:"+out, string(v.Fingerprint)+" ") {
			t.Errorf("%s: sha256sum says %s", v.Name, out)
		}
	}
}

func shell(t *testing.T, input, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return string(out)
}

// packageComment returns what stands between two lines of the package comment.
func packageComment(t *testing.T, after, before string) string {
	t.Helper()
	data, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var comment strings.Builder
	for line := range strings.Lines(string(data)) {
		line = strings.TrimPrefix(line, "//")
		comment.WriteString(strings.TrimLeft(line, " \t"))
	}
	_, rest, found := strings.Cut(comment.String(), after+"\n\n")
	text, _, ended := strings.Cut(rest, "\n\n"+before)
	if !found || !ended {
		t.Fatalf("the package comment has nothing between %q and %q", after, before)
	}
	return text
}

// The package comment shows how to compute a fingerprint by hand. That is run
// here, and held against the package.
func TestFingerprintByHand(t *testing.T) {
	t.Parallel()
	script := packageComment(t, "By hand:", "prints\n")
	said := packageComment(t, "\nprints", "With git, sha256sum")
	if got := strings.Fields(shell(t, "", script))[0]; got != said {
		t.Errorf("the example prints %s, the package comment says %s", got, said)
	}
	var preimage []Field
	for _, v := range vectors(t) {
		if v.Name == "example of the package comment" {
			preimage = v.Preimage
		}
	}
	if got, err := ComputeFingerprint(preimage); err != nil || got != Fingerprint("sha256:"+said) {
		t.Errorf("ComputeFingerprint says %s, %v", got, err)
	}
}

// The other example needs a repository and its lock.
func TestDockerfileFingerprintByHand(t *testing.T) {
	t.Parallel()
	files := []file{
		{path: FileName, content: header + "images:\n- name: web\n  build: {dockerfile: {path: web/Dockerfile}}\n  inputs: [web]\n"},
		{path: "web/Dockerfile", content: "# syntax=docker/dockerfile:1\nFROM alpine:3\nCOPY web/run /\n"},
		{path: "web/run", content: "#!/bin/sh\n", mode: source.ModeExecutable}, {path: "other"},
		locked(t, "alpine:3", digestOf("1"), "docker/dockerfile:1", digestOf("2"), "alpine", digestOf("3")),
	}
	repository := t.TempDir()
	git(t, repository, "", "init", "-q")
	git(t, repository, fastImport("refs/heads/main", 1, files), "fast-import", "--quiet")
	git(t, repository, "", "symbolic-ref", "HEAD", "refs/heads/main")
	git(t, repository, "", "checkout", "-q", "HEAD", "--", LockFileName)
	tree := makeTree(t, files...)
	c, err := Load(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	states, err := c.States(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	script := packageComment(t, "and the inputs [web]:", "Where a base is kept")
	if got := strings.Fields(shell(t, "", "cd '"+repository+"' && "+script))[0]; "sha256:"+got != string(states[0].Fingerprint) {
		t.Errorf("the package comment's commands print %s, want %s", got, states[0].Fingerprint)
	}
}

// The package comment shows a lock.
func TestLockOfThePackageComment(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "document of kind Lock:\n//\n")
	text, _, _ := strings.Cut(rest, "\n//\n")
	text = strings.ReplaceAll("\n"+text, "\n//\t", "\n")
	if lock, err := ParseLock(LockFileName, []byte(text)); err != nil || len(lock.Images) != 2 {
		t.Errorf("%v, %v, of %s", lock, err, text)
	}
}

func TestComputeFingerprintRefuses(t *testing.T) {
	t.Parallel()
	for name, preimage := range map[string][]Field{
		"no field":        nil,
		"an empty key":    {{"", "v"}},
		"a repeated key":  {{"a", "1"}, {"b", ""}, {"a", "1"}},
		"a repeated key2": {{"a", "1"}, {"a", "2"}},
	} {
		if got, err := ComputeFingerprint(preimage); !errors.Is(err, ErrPreimage) || got != "" {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	preimage := []Field{{"b", ""}, {"a", ""}}
	if _, err := ComputeFingerprint(preimage); err != nil || preimage[0].Key != "b" {
		t.Errorf("it changed its argument, or failed: %v, %v", preimage, err)
	}
}

func TestParseFingerprint(t *testing.T) {
	t.Parallel()
	digits := strings.Repeat("0123456789abcdef", 4)
	if got, err := ParseFingerprint("sha256:" + digits); err != nil || string(got) != "sha256:"+digits {
		t.Errorf("%s, %v", got, err)
	}
	for _, bad := range []string{"", digits, "sha256:", "sha256:" + digits[1:], "sha256:" + digits + "0", "sha256:" + strings.ToUpper(digits),
		"sha512:" + digits, "sha256:" + digits[:63] + "g", " sha256:" + digits, "sha256:" + digits + "\n"} {
		if got, err := ParseFingerprint(bad); !errors.Is(err, ErrNoFingerprint) || got != "" {
			t.Errorf("%q: %s, %v", bad, got, err)
		}
	}
}

// Different preimages have different encodings, wherever the bytes of one field
// could be taken for another's.
func FuzzEncodePreimage(f *testing.F) {
	f.Add("a", "1", "b", "2")
	f.Add("a", "1,\n1:b,1:2", "b", "")
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2 string) {
		preimage := []Field{{k1, v1}, {k2, v2}}
		encoded, err := encodePreimage(preimage)
		if refused := k1 == "" || k2 == "" || k1 == k2; refused != (err != nil) {
			t.Fatalf("%q: %v", preimage, err)
		}
		if err != nil {
			return
		}
		rest, ok := strings.CutPrefix(string(encoded), FingerprintSchema+"\n")
		var decoded []Field
		for ok && rest != "" {
			var field Field
			if field.Key, rest, ok = cutNetstring(rest); ok {
				field.Value, rest, ok = cutNetstring(rest)
			}
			if ok {
				rest, ok = strings.CutPrefix(rest, "\n")
			}
			decoded = append(decoded, field)
		}
		sortFields(preimage)
		if !ok || !slices.Equal(decoded, preimage) {
			t.Errorf("%q is encoded as %q and decoded as %q", preimage, encoded, decoded)
		}
	})
}

func cutNetstring(s string) (value, rest string, ok bool) {
	digits, rest, ok := strings.Cut(s, ":")
	n := 0
	for _, d := range []byte(digits) {
		n = 10*n + int(d-'0')
	}
	if !ok || len(rest) <= n || rest[n] != ',' {
		return "", "", false
	}
	return rest[:n], rest[n+1:], true
}
