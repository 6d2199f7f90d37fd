package environment

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/catalogue"
)

func TestParseDotEnv(t *testing.T) {
	t.Parallel()
	const in = `# a comment
PLAIN=value
	EMPTY=
export EXPORTED = with blanks
BLANKS=  a  b  # comment
HASH=a#b
ONLY_HASH=#b
SINGLE='$HOME "and" \n # all' # comment
DOUBLE="a\tb \"c\" \\ \$HOME # 'd'"
LINES="one
two"
KEY='
-----BEGIN
x
'
PRICE=5$
EQUALS=a=b=c
QUOTE_INSIDE=it's
LAST="x"`
	got, err := ParseDotEnv(".env", []byte(in))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	lines := map[string]int{}
	for _, s := range got {
		list = append(list, s.Name+"="+s.Value())
		lines[s.Name] = s.Line
	}
	want := []string{
		"PLAIN=value", "EMPTY=", "EXPORTED=with blanks", "BLANKS=a  b", "HASH=a#b", "ONLY_HASH=", `SINGLE=$HOME "and" \n # all`,
		"DOUBLE=a\tb \"c\" \\ $HOME # 'd'", "LINES=one\ntwo", "KEY=\n-----BEGIN\nx\n", "PRICE=5$", "EQUALS=a=b=c", "QUOTE_INSIDE=it's", "LAST=x",
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if lines["LINES"] != 10 || lines["PRICE"] != 16 || lines["LAST"] != 19 {
		t.Errorf("the lines are %v", lines)
	}
	windows, err := ParseDotEnv(".env", []byte(strings.ReplaceAll(in, "\n", "\r\n")))
	if err != nil || len(windows) != len(got) {
		t.Fatal(err)
	}
	for i := range got {
		if windows[i].Value() != got[i].Value() {
			t.Errorf("with Windows' line ends %s is %q", windows[i].Name, windows[i].Value())
		}
	}
}

// Everything that is wrong is said, each with its line, and none with a value.
func TestParseDotEnvRefuses(t *testing.T) {
	t.Parallel()
	const in = `A=1
canary
canary value=2
B=$canary
C="${canary}"
D="canary
\canary"
E='canary' canary
A=canary
1canary=x
F=$(canary)
G="canary`
	settings, err := ParseDotEnv("my.env", []byte(in))
	const want = `my.env:2: is neither NAME=value, a comment nor empty
my.env:3: does not begin with the name of a variable: letters, digits and _, and no digit first
my.env:4: B: has a $ that other programs expand, and here nothing is: put the value in single quotes
my.env:5: C: has a $ that other programs expand, and here nothing is: write \$, or use single quotes
my.env:7: D: has a \ that is followed by none of n, r, t, ", \ and $: write \\ for one
my.env:8: E: has something behind the closing quote
my.env:9: A: is set twice: in line 1 first
my.env:10: does not begin with the name of a variable: letters, digits and _, and no digit first
my.env:11: F: has a $ that other programs expand, and here nothing is: put the value in single quotes
my.env:12: G: has no closing quote`
	problems, ok := errors.AsType[*catalogue.ProblemsError](err)
	if !ok || settings != nil {
		t.Fatalf("got %v, %v", settings, err)
	}
	if diff := cmp.Diff(want, problems.Error()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for in, want := range map[string]string{
		"A=\xff":      "e:1: is not UTF-8",
		"\ufeffA=b":   "e:1: begins with a byte order mark: save it without",
		"A=b\n\x00\n": "e:2: has a zero byte",
		`A="\`:        "e:1: A: has no closing quote",
	} {
		if _, err := ParseDotEnv("e", []byte(in)); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", in, err, want)
		}
	}
}

// Whatever a file has, reading it ends well, and what is read can be written so that
// it is read again.
func FuzzParseDotEnv(f *testing.F) {
	for _, in := range []string{"A=b", "A='b\nc'", `A="\n\$"`, "export A=b # c", "A", "A=\r\n", "=", "A=\"", "#"} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		settings, err := ParseDotEnv("e", in)
		if err != nil {
			if settings != nil {
				t.Error("there are settings beside an error")
			}
			return
		}
		var again strings.Builder
		quote := strings.NewReplacer("\\", `\\`, `"`, `\"`, "$", `\$`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
		for _, s := range settings {
			again.WriteString("export " + s.Name + "=\"" + quote.Replace(s.Value()) + "\"\n")
		}
		twice, err := ParseDotEnv("e", []byte(again.String()))
		if err != nil || len(twice) != len(settings) {
			t.Fatalf("%d and %d settings, %v", len(settings), len(twice), err)
		}
		for i := range twice {
			if twice[i].Name != settings[i].Name || twice[i].Value() != settings[i].Value() {
				t.Errorf("%s is %q, and was %q", twice[i].Name, twice[i].Value(), settings[i].Value())
			}
		}
	})
}
