package dockerfile

import "testing"

func TestParseRemote(t *testing.T) {
	t.Parallel()
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for source, want := range map[string]string{
		"a":                                  "",
		"./git@x:y":                          "",
		"github.com/a/b":                     "",
		"ftp://a/b":                          "",
		"file:///a":                          "",
		"a:b":                                "",
		"http://a/b":                         "fetched",
		"https://a/b.tar.gz?x=.git":          "fetched",
		"HTTPS://a/b":                        "", // for BuildKit, a path
		"https://a/%zz":                      "fetched",
		"https://a/b.git":                    "fetched",
		"HTTPS://a/b.git#main":               "fetched",
		"https://a/b.git#" + commit + ":dir": "pinned",
		"https://a/b.git#" + commit[1:]:      "fetched",
		"https://a/b.git?ref=" + commit:      "pinned",
		"https://a/b.git?commit=0123456":     "pinned",
		"ssh://git@a/b?checksum=" + commit:   "pinned",
		"git://a/b#v1":                       "fetched",
		"git@a.example:b/c.git":              "fetched",
		"git@a.example:b/c.git#" + commit:    "pinned",
		"me@a:b?checksum=0123456#main":       "pinned",
		"me@a:b?%zz":                         "",
	} {
		got := ""
		if r := parseRemote(source); r != nil {
			got = "fetched"
			if r.pinned {
				got = "pinned"
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
}

// Windows paths have drives and backslashes.
func TestWindows(t *testing.T) {
	t.Parallel()
	p := planned(t, "# escape=`\nFROM scratch\nCOPY sub\\a.txt C:\\x\\\nCOPY C:\\b.txt c:/\nCOPY --parents sub\\c\\*.txt c:/\n", Options{Platform: "windows/amd64"})
	r, err := p.Reads(t.Context(), tree(t, nil, "sub/a.txt", "b.txt", "sub/c/d.txt", "sub/c/e.md"))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Files) != 4 || len(r.Missing) != 0 {
		t.Errorf("%+v", r)
	}
}
