package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// goTest runs the real go test -json over a module with the given files.
func goTest(t *testing.T, files map[string]string) []byte {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module example.test/m\n\ngo 1.26.0\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-json", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.Output()
	if len(out) == 0 {
		t.Fatalf("go test printed nothing: %v", err)
	}
	return out
}

const header = "package m\n\nimport \"testing\"\n\n"

func TestReport(t *testing.T) {
	t.Parallel()
	const pass = header + "func TestOne(t *testing.T) { t.Run(\"sub\", func(*testing.T) {}); t.Log(\"chatter\") }\n"
	for name, tt := range map[string]struct {
		files    map[string]string
		required string
		closing  string
		good     bool
		contains []string
		lacks    []string
	}{
		"all pass": {
			files:    map[string]string{"a_test.go": pass, "none/none.go": "package none\n"},
			required: "example.test/m TestOne/sub # why\n\n# nothing else\n",
			closing:  "2 passed, 0 failed, 0 skipped",
			good:     true,
			contains: []string{"ok    example.test/m", "2 tests", "none  example.test/m/none"},
			lacks:    []string{"chatter"},
		},
		"one fails": {
			files: map[string]string{"a_test.go": pass, "b_test.go": header +
				"func TestTwo(t *testing.T) { t.Run(\"deep\", func(t *testing.T) { t.Error(\"the reason\") }) }\n"},
			closing:  "2 passed, 2 failed, 0 skipped",
			contains: []string{"the reason", "FAIL  example.test/m", "failed: example.test/m TestTwo/deep"},
			lacks:    []string{"chatter", "outside of any test"},
		},
		"one is skipped": {
			files:    map[string]string{"a_test.go": pass, "b_test.go": header + "func TestTwo(t *testing.T) { t.Skip(\"not today\") }\n"},
			closing:  "2 passed, 0 failed, 1 skipped",
			contains: []string{"not today", "skipped: example.test/m TestTwo"},
		},
		"one exits": {
			files: map[string]string{"a_test.go": "package m\n\nimport (\n\"os\"\n\"testing\"\n)\n\n" +
				"func TestTwo(t *testing.T) { println(\"last words\"); os.Exit(3) }\n"},
			required: "example.test/m TestTwo\n",
			closing:  "0 passed, 1 failed, 0 skipped",
			contains: []string{"last words", "failed: example.test/m TestTwo"},
			lacks:    []string{"did not run"},
		},
		"one panics": {
			files: map[string]string{"a_test.go": header +
				"func TestTwo(t *testing.T) { panic(\"no way out\") }\nfunc TestThree(t *testing.T) {}\n"},
			required: "example.test/m TestThree\n",
			closing:  "0 passed, 2 failed, 0 skipped",
			contains: []string{"no way out", "must pass, but did not run: example.test/m TestThree"},
		},
		"one package does not build": {
			files:    map[string]string{"a_test.go": pass, "bad/bad_test.go": "package bad\n\nvar x int = \"text\"\n"},
			closing:  "2 passed, 1 failed, 0 skipped",
			contains: []string{"bad_test.go:3", "it does not build", "failed outside of any test: example.test/m/bad"},
		},
		"the main function of a test fails": {
			files: map[string]string{"a_test.go": "package m\n\nimport (\n\"os\"\n\"testing\"\n)\n\n" +
				"func TestMain(m *testing.M) { m.Run(); println(\"left over\"); os.Exit(1) }\nfunc TestOne(t *testing.T) {}\n"},
			closing:  "1 passed, 1 failed, 0 skipped",
			contains: []string{"left over", "failed outside of any test: example.test/m"},
		},
		"no test at all": {
			files:    map[string]string{"a.go": "package m\n"},
			closing:  "0 passed, 0 failed, 0 skipped",
			contains: []string{"no test ran"},
		},
		"a listed test does not exist": {
			files:    map[string]string{"a_test.go": pass},
			required: "example.test/m TestOne\nexample.test/m TestGone\n",
			closing:  "2 passed, 1 failed, 0 skipped",
			contains: []string{"must pass, but did not run: example.test/m TestGone"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := filepath.Join(t.TempDir(), "required.txt")
			if err := os.WriteFile(list, []byte(tt.required), 0o644); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			good, err := run(bytes.NewReader(goTest(t, tt.files)), &out, list, "")
			if err != nil {
				t.Fatal(err)
			}
			text := out.String()
			if good != tt.good {
				t.Errorf("good: %v", good)
			}
			if !strings.HasSuffix(text, "\n"+tt.closing+"\n") {
				t.Errorf("the closing line is not %q", tt.closing)
			}
			for _, s := range tt.contains {
				if !strings.Contains(text, s) {
					t.Errorf("%q is missing", s)
				}
			}
			for _, s := range tt.lacks {
				if strings.Contains(text, s) {
					t.Errorf("%q is printed", s)
				}
			}
			if t.Failed() {
				t.Logf("printed:\n%s", text)
			}
		})
	}
}

func TestInputThatBreaksOff(t *testing.T) {
	t.Parallel()
	const events = `{"Action":"start","Package":"m"}
{"Action":"run","Package":"m","Test":"TestOne"}
{"Action":"output","Package":"m","Test":"TestOne","Output":"half done\n"}
`
	var out bytes.Buffer
	good, err := run(strings.NewReader(events), &out, "", "")
	if err != nil {
		t.Fatal(err)
	}
	want := "half done\nfailed: m TestOne\nits run did not end: m\ndid not end: m TestOne\n0 passed, 1 failed, 0 skipped\n"
	if good || out.String() != want {
		t.Errorf("good %v, printed:\n%swant:\n%s", good, out.String(), want)
	}
}

func TestOtherLinesPass(t *testing.T) {
	t.Parallel()
	const lines = "# a module\n{not an event}\n{\"other\":1}\nlast"
	var out bytes.Buffer
	r := newReport(&out)
	if err := follow(r, strings.NewReader(lines)); err != nil {
		t.Fatal(err)
	}
	if out.String() != lines {
		t.Errorf("printed %q", out.String())
	}
}

func TestRunning(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := newReport(&out)
	for _, line := range []string{
		`{"Action":"start","Package":"m"}`,
		`{"Action":"run","Package":"m","Test":"TestA"}`,
		`{"Action":"pass","Package":"m","Test":"TestA"}`,
		`{"Action":"run","Package":"m","Test":"TestB"}`,
		`{"Action":"pause","Package":"m","Test":"TestB"}`,
		`{"Action":"run","Package":"m","Test":"TestC"}`,
	} {
		r.line([]byte(line))
	}
	r.running()
	if want := "...   m  1 tests so far  TestC\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

func TestSummaryFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "summary")
	var out bytes.Buffer
	if _, err := run(strings.NewReader(`{"Action":"pass","Package":"m","Test":"T"}`+"\n"+`{"Action":"pass","Package":"m"}`), &out, "", file); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != "1 passed, 0 failed, 0 skipped\n" || strings.Contains(out.String(), "passed") {
		t.Errorf("file %q, stdout %q", got, out.String())
	}
}

func TestRequiredList(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(file, []byte("a T\nonly-one\n# fine\na T\none two three\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := readRequired(file)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"list:2: ", "list:4: a T is listed twice", "list:5: "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
}
