package main

import (
	"cmp"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/standard"
)

func TestBuildFlags(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "npmrc")
	if err := os.WriteFile(file, []byte("//registry/:_authToken=hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TOKEN", "hunter3")
	agent := filepath.Join(dir, "agent")
	socket, err := net.Listen("unix", agent)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()
	t.Setenv("SSH_AUTH_SOCK", agent)
	var o standard.Options
	flags := buildFlags{
		jobs:    2,
		secrets: []string{"id=npmrc,src=" + file, "type=file,id=again,source=" + file, "id=token,env=TOKEN", "id=TOKEN"}, ssh: []string{"default", "deploy=" + agent},
	}
	if err := flags.into(&o); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"npmrc": "//registry/:_authToken=hunter2\n", "again": "//registry/:_authToken=hunter2\n", "token": "hunter3", "TOKEN": "hunter3"} {
		got, err := o.Secrets[id](t.Context())
		if err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", id, got, err)
		}
	}
	if len(o.Secrets) != 4 || len(o.SSH) != 2 || o.SSH["default"] != agent || o.SSH["deploy"] != agent || o.Jobs != 2 {
		t.Errorf("options %+v", o)
	}

	t.Setenv("SSH_AUTH_SOCK", "")
	for want, flags := range map[string]buildFlags{
		"must be id=ID,src=FILE":         {secrets: []string{"hunter2"}},
		"has no id":                      {secrets: []string{"src=" + file}},
		"content is not known":           {secrets: []string{"id=a,content=hunter2"}},
		"has both src and env":           {secrets: []string{"id=a,env=TOKEN,src=" + file}},
		"type is file or env":            {secrets: []string{"id=a,type=vault"}},
		"the variable NONE is not set":   {secrets: []string{"id=a,env=NONE"}},
		"the variable none is not set":   {secrets: []string{"id=none"}},
		"no such file":                   {secrets: []string{"id=a,src=" + file + "x"}},
		"there is another one with":      {secrets: []string{"id=a,env=TOKEN", "id=a,env=TOKEN"}},
		`--ssh is "default"`:             {ssh: []string{"default"}},
		`--ssh is "a=/b,/c"`:             {ssh: []string{"a=/b,/c"}},
		"--ssh: a: stat /nope: no such":  {ssh: []string{"a=/nope"}},
		"--ssh: a: " + file + " is no":   {ssh: []string{"a=" + file}},
		"--ssh: a: " + dir + " is no":    {ssh: []string{"a=" + dir}},
		"--buildkit-tlsdir: open " + dir: {tlsDir: dir},
		"--builds is -1":                 {jobs: -1},
	} {
		flags.jobs = cmp.Or(flags.jobs, 1)
		err := flags.into(&standard.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%+v: %v, want %q", flags, err, want)
		}
	}
}
