package transport_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/internal/exectest"
	"github.com/pharos-dev/pharos/lifecycle/transport"
)

// The user's name and password come from the address, from the user's own helper, or
// from that of the checkout. They are in no argument of a program.
func TestCredentials(t *testing.T) {
	t.Parallel()
	const helper = "#!/bin/sh\nif [ \"$1\" = get ]; then echo username=me; echo password=hunter2; fi\n"
	for name, prepare := range map[string]func(t *testing.T, c *transport.Config){
		"address": func(_ *testing.T, c *transport.Config) {
			c.URL = strings.Replace(c.URL, "http://", "http://me:hunter2@", 1)
		},
		"user's helper": func(t *testing.T, c *transport.Config) {
			program := filepath.Join(t.TempDir(), "helper")
			exectest.Write(t, program, []byte(helper))
			c.Env = testEnv("GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=credential.helper", "GIT_CONFIG_VALUE_0="+program)
		},
		"checkout's helper": func(t *testing.T, c *transport.Config) {
			program := filepath.Join(t.TempDir(), "helper")
			exectest.Write(t, program, []byte(helper))
			git(t, c.Dir, "config", "credential.helper", program)
		},
		"checkout's header": func(t *testing.T, c *transport.Config) {
			git(t, c.Dir, "config", "http.extraHeader", "Authorization: Basic bWU6aHVudGVyMg==")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newServer(t, "sha1"), checkout(t, "sha1")
			s.user = "me:hunter2"
			arguments := filepath.Join(t.TempDir(), "arguments")
			c := transport.Config{URL: s.url, Dir: dir, Git: wrapGit(t, `echo "$@" >>`+arguments)}
			prepare(t, &c)
			s.holds(push(t, remote(t, c), pruned(t, dir, "api")))
			if said := read(t, arguments); strings.Contains(said, "hunter2") || strings.Contains(said, "bWU6aHVudGVyMg==") || !strings.Contains(said, "push") {
				t.Errorf("arguments:\n%s", said)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	good := transport.Config{URL: "http://git.example.com/repo.git", Folder: t.TempDir()}
	for name, change := range map[string]func(*transport.Config){
		"no address":   func(c *transport.Config) { c.URL = "" },
		"ssh":          func(c *transport.Config) { c.URL = "ssh://git@git.example.com/repo.git" },
		"scp":          func(c *transport.Config) { c.URL = "git@git.example.com:repo.git" },
		"malformed":    func(c *transport.Config) { c.URL = "http://%zz:hunter2@x" },
		"query":        func(c *transport.Config) { c.URL += "?token=hunter2" },
		"no folder":    func(c *transport.Config) { c.Folder = "" },
		"no checkout":  func(c *transport.Config) { c.Dir = t.TempDir() },
		"no such git":  func(c *transport.Config) { c.Git = "no-such-git" },
		"no host":      func(c *transport.Config) { c.URL = "http:///repo.git" },
		"with a place": func(c *transport.Config) { c.URL += "#main" },
	} {
		c := good
		change(&c)
		if _, err := transport.New(c); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := transport.New(good); err != nil {
		t.Error(err)
	}
}
