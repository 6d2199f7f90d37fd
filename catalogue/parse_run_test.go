package catalogue

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// refusedRuns are values of run and what is wrong with them; the value begins in
// line 7.
var refusedRuns = []struct{ name, in, want string }{
	{"two", "{go: {}, command: [a]}", "p:7:10: images[0].run: has go and command, and must have exactly one of go, command, python, node"},
	{"of another kind", "{go: {}}", "p:7:15: images[0].run.go: needs a build of kind go, which names the program; write a command instead"},
	{"unknown", "{golang: {}}", `p:7:11: images[0].run.golang: is not known; the fields are go, command, python, node, dir, reload, env, set, envFile, forwards, ports, files`},
	{"fields of a kind", "{python: {path: x}}", "" +
		"p:7:19: images[0].run.python: needs one of module, script\n" +
		"p:7:20: images[0].run.python.path: is not known; the fields are module, script, args"},
	{"both ways", "{node: {script: dev, file: a.js}}", "p:7:17: images[0].run.node: has script and file, and must have exactly one of script, file"},
	{"module", "{python: {module: a/b.py}}", `p:7:28: images[0].run.python.module: is "a/b.py", and must be the name of a module, such as shop.main`},
	{"script outside", "{python: {script: ../a.py}}", `p:7:28: images[0].run.python.script: is "../a.py", which leaves the tree: an image is built from this tree only`},
	{"reload of what is found", "{reload: self}", "p:7:19: images[0].run.reload: is for a program that is named: by command, python or node"},
	{"nothing", "{command: [], reload: sefl, env: [A-B]}", "" +
		"p:7:20: images[0].run.command: is empty: name the program and its arguments\n" +
		`p:7:32: images[0].run.reload: is "sefl"; did you mean "self"?` + "\n" +
		`p:7:44: images[0].run.env[0]: is "A-B", and must be the name of an environment variable, in which * stands for any characters`},
	{"secret", "{set: {API_TOKEN: hunter2, a.b: x}}", "" +
		"p:7:28: images[0].run.set.API_TOKEN: looks like a secret, and this file is no place for one: put it into the file that envFile names, and keep that out of Git\n" +
		"p:7:42: images[0].run.set[\"a.b\"]: is no name of an environment variable"},
	{"env file outside", "{envFile: ../.env, dir: /srv}", "" +
		`p:7:20: images[0].run.envFile: is "../.env", which leaves the tree: an image is built from this tree only` + "\n" +
		`p:7:34: images[0].run.dir: is "/srv": a path is relative to the root of the tree, so leave the leading / out`},
	{"forwards", "{env: [A], forwards: [{service: a}, {service: 'a:0'}, {service: 'A:1', local: 0}, {service: 'a:65536'}, {service: 'a.b:1'}, {}]}", "" +
		`p:7:42: images[0].run.forwards[0].service: is "a", and must be a Service and one of its port numbers, such as postgres:5432` + "\n" +
		`p:7:56: images[0].run.forwards[1].service: is "a:0", and must be a Service and one of its port numbers, such as postgres:5432` + "\n" +
		`p:7:74: images[0].run.forwards[2].service: is "A", and must have lower-case letters, digits and '-' only, at most 63` + "\n" +
		`p:7:88: images[0].run.forwards[2].local: is 0, and must be from 1 to 65535` + "\n" +
		`p:7:102: images[0].run.forwards[3].service: is "a:65536", and a port is at most 65535` + "\n" +
		`p:7:124: images[0].run.forwards[4].service: is "a.b:1", and must be the Service's name alone: write its namespace in the field namespace` + "\n" +
		"p:7:134: images[0].run.forwards[5].service: is missing"},
	{"forwards twice", "{forwards: [{service: 'a:1', local: 5}, {service: 'a:1', local: 5}, {service: 'a:1', namespace: b}]}", "" +
		"p:7:60: images[0].run.forwards[1].service: is a:1, which another item has\n" +
		"p:7:74: images[0].run.forwards[1].local: is 5, which another item has"},
	{"forward of what does not reach it", "{env: ['D*', B], set: {C: x}, forwards: [{service: 'a:1', env: [A, B, C, DD, E.F]}]}", "" +
		`p:7:74: images[0].run.forwards[0].env[0]: is "A", which does not reach the process: list it in env` + "\n" +
		`p:7:87: images[0].run.forwards[0].env[4]: is "E.F", and must be the name of an environment variable`},
	{"ports", "{ports: [{port: 80}, {port: 80, local: 8080}, {port: 81, local: 8080, env: ''}]}", "" +
		"p:7:19: images[0].run.ports[0].local: is missing\n" +
		"p:7:38: images[0].run.ports[1].port: is 80, which another item has\n" +
		"p:7:74: images[0].run.ports[2].local: is 8080, which another item has\n" +
		"p:7:85: images[0].run.ports[2].env: is empty"},
	{"files", "{files: [etc, /, {path: /etc/a/../b, env: [A]}, /etc/b]}", "" +
		`p:7:19: images[0].run.files[0]: is "etc", and must be an absolute path in the image, such as /srv` + "\n" +
		"p:7:24: images[0].run.files[1]: is all of the container: name the folder that something is mounted to\n" +
		"p:7:58: images[0].run.files[3]: is /etc/b, which another item has"},
}

func TestParseRefusesRuns(t *testing.T) {
	t.Parallel()
	for _, tt := range refusedRuns {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := header + "images:\n- name: a\n  build: {files: {}}\n  inputs: [a]\n  run:   " + tt.in + "\n"
			checkProblems(t, in, tt.want)
			if _, err := Parse("p", []byte(in)); err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Error(err)
			}
		})
	}
}

func TestParseRuns(t *testing.T) {
	t.Parallel()
	forward := func(text string) string { return "{env: ['*'], forwards: [" + text + "]}" }
	for in, want := range map[string]Run{
		"{}":                                     {},
		"{dir: ./b/}":                            {Dir: "b"},
		"{command: [a, b]}":                      {Command: []string{"a", "b"}, Reload: ReloadRestart},
		"{command: [a], reload: signal}":         {Command: []string{"a"}, Reload: ReloadSignal},
		"{python: {module: a.b}}":                {Python: &PythonRun{Module: "a.b"}, Reload: ReloadRestart},
		"{python: {script: ./a.py}}":             {Python: &PythonRun{Script: "a.py"}, Reload: ReloadRestart},
		"{node: {script: dev, args: [-x]}}":      {Node: &NodeRun{Script: "dev", Args: []string{"-x"}}, Reload: ReloadSelf},
		"{node: {script: dev}, reload: restart}": {Node: &NodeRun{Script: "dev"}, Reload: ReloadRestart},
		"{node: {file: a.js}}":                   {Node: &NodeRun{File: "a.js"}, Reload: ReloadRestart},
		"{env: [B, A*], set: {A: '', B: b}, envFile: ./x/.env}": {
			Env: []string{"A*", "B"}, Set: map[string]string{"A": "", "B": "b"}, EnvFile: "x/.env",
		},
		forward("{service: 'b:1'}, {service: 'a:2', namespace: c, local: 3, env: [E, D]}, {service: 'a:9', env: D}"): {
			Env: []string{"*"},
			Forwards: []RunForward{
				{Service: "a", Namespace: "c", Port: 2, Local: 3, Env: []string{"D", "E"}}, {Service: "a", Port: 9, Env: []string{"D"}}, {Service: "b", Port: 1},
			},
		},
		"{ports: [{port: 81, local: 82}, {port: 80, local: 8080, env: A}]}": {
			Ports: []RunPort{{Port: 80, Local: 8080, Env: []string{"A"}}, {Port: 81, Local: 82}},
		},
		"{files: [/b/../c, {path: /a/, env: A}]}": {Files: []RunFiles{{Path: "/a", Env: []string{"A"}}, {Path: "/c"}}},
	} {
		c, err := Parse("p", []byte(header+"images: [{name: a, build: {files: {from: a}}, inputs: [a], run: "+in+"}]\n"))
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if want.Dir == "" {
			want.Dir = "a"
		}
		if diff := cmp.Diff(&want, c.Images[0].Run); diff != "" {
			t.Errorf("%s: -want +got\n%s", in, diff)
		}
	}
}

// An image runs where its files are, if nothing else is said.
func TestRunDir(t *testing.T) {
	t.Parallel()
	for build, want := range map[string]string{
		"go: {package: ./a/b}": ".", "dockerfile: {}": ".", "dockerfile: {path: a/b/Dockerfile}": "a/b", "files: {}": ".", "files: {from: ./a/}": "a",
	} {
		c, err := Parse("p", []byte(header+"images: [{name: a, build: {"+build+"}, inputs: [a], run: {}}]\n"))
		if err != nil || c.Images[0].Run.Dir != want {
			t.Errorf("%s: %v, %+v, want %s", build, err, c, want)
		}
	}
}

// Nothing of how an image runs has a part in its fingerprint.
func TestRunLeavesFingerprints(t *testing.T) {
	t.Parallel()
	files := goFiles()
	image := goImage(t)
	before := stateOf(t, image, files...).Fingerprint
	every := Run{
		Go: &GoRun{Args: []string{"a"}}, Command: []string{"a"}, Python: &PythonRun{Module: "a"}, Node: &NodeRun{Script: "a"}, Dir: "a", Reload: ReloadSelf,
		Env: []string{"A"}, Set: map[string]string{"A": "b"}, EnvFile: ".env", Forwards: []RunForward{{Service: "a", Port: 1}},
		Ports: []RunPort{{Port: 1, Local: 2}}, Files: []RunFiles{{Path: "/a"}},
	}
	for f := range reflect.TypeFor[Run]().NumField() {
		run, name := Run{}, reflect.TypeFor[Run]().Field(f).Name
		value := reflect.ValueOf(every).Field(f)
		if value.IsZero() {
			t.Fatalf("%s is not set", name)
		}
		reflect.ValueOf(&run).Elem().Field(f).Set(value)
		if image.Run = &run; stateOf(t, image, files...).Fingerprint != before {
			t.Errorf("%s changes the fingerprint", name)
		}
	}
}

func TestAllows(t *testing.T) {
	t.Parallel()
	names := []string{"A", "AB", "ABC", "ACB", "B", "BAB", "", "A*", "DB_URL", "DB_", "XDB_URL", "AXBXC", "ABAB"}
	for patterns, want := range map[string]string{
		"":      "",
		"A":     "A",
		"*":     strings.Join(names, " "),
		"**":    strings.Join(names, " "),
		"A*":    "A AB ABC ACB A* AXBXC ABAB",
		"*B":    "AB ACB B BAB ABAB",
		"DB_*":  "DB_URL DB_",
		"A*B*C": "ABC AXBXC",
		"AB*B":  "ABAB",
		"A,B":   "A B",
	} {
		run := Run{Env: slices.DeleteFunc(strings.Split(patterns, ","), func(s string) bool { return s == "" })}
		got := map[string]bool{}
		for _, name := range names {
			got[name] = run.Allows(name)
		}
		maps.DeleteFunc(got, func(_ string, allowed bool) bool { return !allowed })
		wanted := map[string]bool{}
		if want != "" {
			for name := range strings.SplitSeq(want, " ") {
				wanted[name] = true
			}
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%q: -want +got\n%s", patterns, diff)
		}
	}
}
