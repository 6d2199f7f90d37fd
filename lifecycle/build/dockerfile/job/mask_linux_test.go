package job

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The filter blacks out what a BuildKit at an address blacks out.
func TestMask(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := map[string]string{
		"token": "abc123", "key": "-----BEGIN\n  line&one\\1  \r\nabc\n", "longer": "abc123456\n", "empty": "", "pattern": "a.*[z]$\n", "odd": "\xff\xfe\x01\x02",
	}
	args := []string{"awk", maskProgram}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	args = append(args, filepath.Join(dir, "*"))
	for printed, want := range map[string]string{
		"#5 0.073 abc123":               "#5 0.073 ***",
		"abc123abc123 x abc123":         "****** x ***",
		"abc123456":                     "***",
		"xline&one\\1y":                 "x***y",
		"#7 abc is short":               "#7 abc is short",
		"a.*[z]$ aqqz":                  "*** aqqz",
		"-----BEGIN":                    "***",
		"<\xff\xfe\x01\x02>\xff":        "<***>\xff",
		"a line that has none, é and 🙂": "a line that has none, é and 🙂",
		"":                              "",
	} {
		cmd := exec.CommandContext(t.Context(), "busybox", args...)
		cmd.Env = append(cmd.Environ(), "LC_ALL=C")
		cmd.Stdin = strings.NewReader(printed + "\n")
		var said bytes.Buffer
		cmd.Stderr = &said
		got, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, said.String())
		}
		if string(got) != want+"\n" {
			t.Errorf("%q: got %q, want %q", printed, got, want)
		}
	}
}
