package golang

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/modfile"
)

func TestJoinQuoted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, ""},
		{[]string{"-s", "-w"}, "-s -w"},
		{[]string{"-X", "main.a=b c"}, "-X 'main.a=b c'"},
		{[]string{"-X", "main.a=it's"}, `-X "main.a=it's"`},
		{[]string{"-X", `main.a="b"`}, `-X 'main.a="b"'`},
		{[]string{""}, "''"},
	} {
		got, err := joinQuoted(tt.args)
		if err != nil || got != tt.want {
			t.Errorf("%q are joined as %q, %v; want %q", tt.args, got, err, tt.want)
		}
	}
}

func TestNetworkFailures(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]bool{
		`go: example.com/dep@v1.0.0: Get "https://proxy.example/x": dial tcp 127.0.0.1:1: connect: connection refused`:     true,
		`main.go:3:8: example.com/dep@v1.0.0: Get "https://proxy.example/x": dial tcp: lookup proxy.example: no such host`: true,
		`go: download go1.99.0: golang.org/toolchain@v0.0.1: Get "https://proxy.example": net/http: TLS handshake timeout`: true,
		`go: example.com/dep@v1.0.0: verifying module: checksum mismatch`:                                                  false,
		`main.go:3:8: package example.com/dep is not in std`:                                                               false,
		`main.go:9:2: undefined: dial`: false,
		"# example.com/shop\nmain.go:9:2: cannot use \"dial tcp\" (untyped string constant) as int value": false,
	} {
		if got := isNetworkFailure(output); got != want {
			t.Errorf("%q: got %t", output, got)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	const begin = "go: example.com/dep@v1.0.0: invalid version: git ls-remote -q origin in /srv/vcs: exit status 128:\n"
	for output, want := range map[string]bool{
		begin + "\tgit@example.com: Permission denied (publickey).\n\tfatal: Could not read from remote repository.\n": true,
		begin + "\tfatal: could not read Username for 'https://example.com': terminal prompts disabled\n":              true,
		begin + "\tHost key verification failed.\n":                                                                    true,
		begin + "\tfatal: detected dubious ownership in repository\n":                                                  false,
		"m.go:9:2: cannot use \"git@example.com: Permission denied (publickey)\" as int value\n":                       false,
	} {
		if got := isRefusal(output); got != want {
			t.Errorf("%q: got %t", output, got)
		}
	}
}

func TestOutputBySeveralCommands(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	shared := newOutput(&all)
	one, two := shared.writer("/tmp/private"), shared.writer("/tmp/private")
	for _, step := range []struct {
		to   *commandOutput
		text string
	}{{one, "one begins, "}, {two, "/tmp/private/src/two.go:1:2: no\nand "}, {one, "one ends\n"}, {two, "more"}} {
		if _, err := step.to.Write([]byte(step.text)); err != nil {
			t.Fatal(err)
		}
	}
	one.flush()
	two.flush()
	if want := "two.go:1:2: no\none begins, one ends\nand more\n"; all.String() != want {
		t.Errorf("got %q, want %q", all.String(), want)
	}
	if want := "two.go:1:2: no\nand more\n"; two.tail() != want {
		t.Errorf("the tail is %q, want %q", two.tail(), want)
	}
	long := shared.writer("/tmp/private")
	line := strings.Repeat("x", 99) + "\n"
	for range 1000 {
		if _, err := long.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	tail := long.tail()
	if rest, ok := strings.CutPrefix(tail, "…\n"); !ok || len(tail) > maxTail+8 || strings.ReplaceAll(rest, line, "") != "" {
		t.Errorf("the tail of much has %d bytes and begins with %q", len(tail), tail[:20])
	}
}

func TestProgramName(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ module, dir, pkg, want string }{
		{"example.com/shop", ".", "cmd/hello", "hello"},
		{"example.com/shop", ".", ".", "shop"},
		{"example.com/shop/v2", ".", ".", "shop"},
		{"example.com/shop", "services/shop", "services/shop/v3", "shop"},
		{"example.com/shop", "services/shop", "services/shop", "shop"},
		{"v2", ".", ".", "v2"},
	} {
		m := &module{dir: tt.dir, pkg: tt.pkg, file: moduleFile(t, tt.module)}
		if got := m.programName(); got != tt.want {
			t.Errorf("%v: got %q", tt, got)
		}
	}
}

func FuzzEmbedPatterns(f *testing.F) {
	for _, args := range []string{"a b", `"a b" c`, "`a` b", `"unended`, "all:static/*.html\tx", `"a\tb"`, "  "} {
		f.Add(args)
	}
	f.Fuzz(func(t *testing.T, args string) {
		patterns := embedPatterns(args)
		if strings.ContainsAny(args, "\"'`") {
			return
		}
		// Without quotes, patterns are what spaces and tabs divide.
		want := strings.FieldsFunc(strings.TrimSpace(args), func(r rune) bool { return r == ' ' || r == '\t' })
		if !strings.ContainsAny(args, "\n\v\f\r\u0085\u00a0") && isASCII(args) {
			if diff := cmp.Diff(want, patterns); diff != "" && len(want)+len(patterns) > 0 {
				t.Errorf("%q (-want +got):\n%s", args, diff)
			}
		}
	})
}

func isASCII(s string) bool { return strings.IndexFunc(s, func(r rune) bool { return r > 127 }) < 0 }

func moduleFile(t *testing.T, name string) *modfile.File {
	t.Helper()
	f, err := modfile.Parse("go.mod", []byte("module "+name+"\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
