package source

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// list is the settings in the form of git config --list -z.
func list(settings []setting) string {
	var b strings.Builder
	for _, s := range settings {
		fmt.Fprintf(&b, "%s.%s\n%s\x00", s.section, strings.TrimPrefix(s.subsection+"."+s.key, "."), s.value)
	}
	return b.String()
}

func TestConfigurationsAreReadAsGitReadsThem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, text := range []string{
		"", "\xef\xbb\xbf[a]\nb = c\n", "[a]b=c", "[A]B = C\r\n\td = e \r\n", "[a \"B\"] c = d", "[a.B]\nc = d\n", "[a.b.c]\nd = e\n",
		"[a \"b\\\"c\\\\d\\e\"]\nf = g\n", "[a]\nb = \" c \" d # e\nf = g;h\ni = \"j;k\"\n", "[a]\nb = c \\\n  d\\\n\ne = f\n",
		"[a]\nb = c\\td\\ne\\\\f\\\"g\\bh\n", "# a\n ; b\n[c] # d\ne = f", "[a]\nb =\nc = \"\"\n", "[a]\nb = c  d\t\n",
		"[a]\n1b = c\n", "[a]\nb c\n", "[a\nb = c\n", "[a \"b]\n", "[a \"b\nc\"]\n", "[a b]\n", "[a]\nb = \"c\n", "[a]\nb = \\x\n",
		"[a]\nb = c\\", "[a]\nb = c  \\\n \nd = e", "[a] ]\n", "[a_b]\nc = d\n", "= x\n", "[a \"b\"c]\n", "[a\t\"b\" ]\n", "[a]\nb ; c\n", "[a]\nb = \"c\\\nd\"\n", "[ a]\n",
		"[a]\nb = c\n[a]\nb = d\n", "[a]\nb = \" \" \n", "[a]\nb-1 = c\n", "[a]\n\tb\t=\tc", "[a]\nb = c\\\r\nd\n",
	} {
		file := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		settings, err := readConfig(file)
		want, gitErr := exec.Command("git", "config", "--file", file, "--list", "-z").Output()
		switch {
		case (err == nil) != (gitErr == nil):
			t.Errorf("%q: %q, %v; git says %q, %v", text, list(settings), err, want, gitErr)
		case err != nil && !strings.HasPrefix(err.Error(), file+":"):
			t.Errorf("%q: the error does not say where: %v", text, err)
		case err == nil && list(settings) != string(want):
			t.Errorf("%q: %q, git says %q", text, list(settings), want)
		}
	}
	if settings, err := readConfig(filepath.Join(dir, "absent")); err != nil || settings != nil {
		t.Errorf("%v, %v", settings, err)
	}
	if _, err := readConfig(dir); err == nil {
		t.Error("a folder was read")
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte("[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256 ; x\n"))
	f.Add([]byte("[a \"b\\\"c\"] d = \"e\\\\\" \\\n f # g\n"))
	f.Add([]byte("[a]\nb = \\"))
	f.Fuzz(func(t *testing.T, data []byte) {
		settings, err := parseConfig(data)
		if err != nil && settings != nil {
			t.Fatal("settings beside an error")
		}
		for _, s := range settings {
			if s.key == "" || s.key != strings.ToLower(s.key) || s.section != strings.ToLower(s.section) {
				t.Fatalf("%+v", s)
			}
		}
	})
}
