package workstation_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/workstation"
)

// What a .env file gives a process is known before anything is done, and so is what is
// wrong with it: by file and line, without a value, and as something that an edit mends.
func TestVariablesOfDotEnv(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	w, err := workstation.New(workstation.Config{REST: &rest.Config{}, Root: root, Folder: filepath.Join(root, "own"), Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	of := takeover.Workload{Namespace: "shop", Name: "api", Container: "main", Image: "api", Run: catalogue.Run{Env: []string{"GREETING"}, EnvFile: "api/.env"},
		Live: []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"main","env":[{"name":"GREETING","value":"hello"},{"name":"OTHER","value":"x"}]}]}}}}`)}
	for text, want := range map[string]string{
		"":                                "api/.env",
		"A=1\n\nPASSWORD='hunter2\n":      "api/.env:3: PASSWORD: has no closing quote",
		"# two\nA=hunter2\nhunter2\nB=$C": "api/.env:3: ",
	} {
		if text != "" {
			write(t, root, text)
		}
		_, err := w.Variables(of)
		if !errors.Is(err, lifecycle.ErrSource) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	write(t, root, "FEATURE=on\n")
	names, err := w.Variables(of)
	if err != nil || len(names) != 2 || names[0].Name != "FEATURE" || names[0].From != "api/.env" || names[1].Name != "GREETING" {
		t.Errorf("the variables are %v, %v", names, err)
	}
}

func write(t *testing.T, root, text string) {
	t.Helper()
	name := filepath.Join(root, "api", ".env")
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}
