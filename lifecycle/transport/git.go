package transport

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/processgroup"
)

// git runs the git program in a private repository.
type git struct {
	program string
	env     []string
	address address
	config  string // the file of the checkout's configuration, "" for none
	log     *slog.Logger
}

// settings keep git from starting or signing anything, from waiting for a server
// that has gone silent, and from following a redirect: what it says to a server with
// http.extraHeader, it would say to the one that it is sent to.
var settings = []string{
	"-c", "core.hooksPath=" + os.DevNull,
	"-c", "gc.auto=0",
	"-c", "push.gpgSign=false",
	"-c", "push.pushOption=",
	"-c", "http.lowSpeedLimit=1",
	"-c", "http.lowSpeedTime=60",
	"-c", "http.followRedirects=false",
}

// lookup returns what the references of the server name that patterns match, by
// their names: full names, or beginnings with a * behind them.
func (g *git) lookup(ctx context.Context, repo *repository, patterns ...string) (map[string]source.ID, error) {
	out, err := g.remote(ctx, repo, append([]string{"ls-remote", "--refs", "--", g.address.text}, patterns...)...)
	if err != nil {
		return nil, err
	}
	refs := map[string]source.ID{}
	for line := range strings.Lines(string(out)) {
		id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		for _, pattern := range patterns { // which git takes for the ends of names too
			prefix, all := strings.CutSuffix(pattern, "*")
			if name == pattern || all && strings.HasPrefix(name, prefix) {
				refs[name] = source.ID(id)
			}
		}
	}
	return refs, nil
}

// update is what is to become of a reference of the server, if it still is as it
// was: no ID is no reference.
type update struct {
	ref      string
	old, new source.ID
}

// push updates references of the server, all or none if it is atomic, and sends the
// objects that it lacks for that.
func (g *git) push(ctx context.Context, repo *repository, atomic bool, updates ...update) error {
	args := []string{"push", "--porcelain", "--no-progress", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--thin"}
	if atomic {
		args = append(args, "--atomic")
	}
	for _, u := range updates {
		args = append(args, "--force-with-lease="+u.ref+":"+string(u.old))
	}
	args = append(args, "--", g.address.text)
	for _, u := range updates {
		args = append(args, string(u.new)+":"+u.ref)
	}
	_, err := g.remote(ctx, repo, args...)
	return err
}

// remote runs a command that speaks with the server, with what the checkout is
// configured to say to it.
func (g *git) remote(ctx context.Context, repo *repository, args ...string) ([]byte, error) {
	var configured []string
	if g.config != "" {
		out, err := g.run(ctx, repo, nil, nil, "config", "--file", g.config, "--includes", "--null",
			"--get-regexp", `^(credential|http|url)\.`)
		if err != nil && !isStatus(err, 1) { // nothing is configured
			return nil, err
		}
		for record := range strings.SplitSeq(string(out), "\x00") {
			if key, value, ok := strings.Cut(record, "\n"); ok {
				configured = append(configured, key, value)
			} else if record != "" { // a key alone is a true one
				configured = append(configured, record, "true")
			}
		}
	}
	// What is configured for an address outdoes what the settings say of all.
	configured = append(configured, "http."+g.address.text+".followRedirects", "false")
	out, err := g.run(ctx, repo, configured, nil, args...)
	if failed, ok := errors.AsType[*gitError](err); ok && failed.redirected() {
		failed.location = g.location(ctx, repo, configured, args)
	}
	return out, err
}

// location returns where the server redirects that command, "" if it does not say so
// again. Git shows it only with the headers of all requests, without credentials.
func (g *git) location(ctx context.Context, repo *repository, configuration, args []string) string {
	traced := *g
	traced.env = append(slices.Clone(g.env), "GIT_TRACE_CURL=1", "GIT_TRACE_CURL_NO_DATA=1")
	traced.log = slog.New(slog.DiscardHandler)
	_, err := traced.run(ctx, repo, configuration, nil, args...)
	if failed, ok := errors.AsType[*gitError](err); ok {
		return redirection(failed.stderr)
	}
	return ""
}

// run returns what git wrote to its output. The configuration is keys and values.
func (g *git) run(ctx context.Context, repo *repository, configuration []string, stdin []byte, args ...string) ([]byte, error) {
	var stdout bytes.Buffer
	err := g.stream(ctx, repo, configuration, stdin, &stdout, args...)
	if failed, ok := errors.AsType[*gitError](err); ok {
		failed.rejected = rejection(stdout.String())
	}
	if err != nil {
		return nil, err
	}
	return stdout.Bytes(), nil
}

// stream writes what git writes to its output.
func (g *git) stream(ctx context.Context, repo *repository, configuration []string, stdin []byte, stdout io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, g.program, slices.Concat(settings, args)...)
	cmd.Dir = repo.dir
	cmd.Env = append(configure(g.env, configuration), "GIT_DIR="+repo.dir, "PWD="+repo.dir)
	cmd.WaitDelay = 10 * time.Second // for what left the group and holds the pipes
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	err := processgroup.Run(cmd)
	said := redact(strings.TrimSpace(stderr.String()))
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &gitError{command: args[0], err: err, stderr: said}
	}
	if said != "" {
		g.log.DebugContext(ctx, "git remarks", "server", g.address.text, "command", args[0], "stderr", said)
	}
	return nil
}

// environment returns the environment of the git program: the caller's, without
// what points it at one repository, has it print more, or could ask somebody.
func environment(env []string, a address) []string {
	if env == nil {
		env = (&exec.Cmd{}).Environ() // as git is started without it
	}
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return elsewhere(name) || strings.HasPrefix(name, "GIT_TRACE") || name == "GIT_CURL_VERBOSE"
	})
	env = append(env,
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=http:https",
		// An empty GIT_ASKPASS is none, whatever else is configured.
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "GCM_INTERACTIVE=never",
		"LC_ALL=C", // of the messages that are judged by their words
	)
	if a.user == nil {
		return env
	}
	password, _ := a.user.Password()
	basic := base64.StdEncoding.EncodeToString([]byte(a.user.Username() + ":" + password))
	return configure(env, []string{"http." + a.text + ".extraHeader", "Authorization: Basic " + basic})
}

// configure adds settings to those that the environment holds already, where
// other users of the machine do not see them. See git-config(1), Environment.
func configure(env, settings []string) []string {
	if len(settings) == 0 {
		return slices.Clone(env)
	}
	const count = "GIT_CONFIG_COUNT="
	n := 0
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		text, is := strings.CutPrefix(v, count)
		if is {
			n, _ = strconv.Atoi(text) // git refuses what is no number, with or without ours
		}
		return is
	})
	for i := 0; i+1 < len(settings); i += 2 {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, settings[i]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, settings[i+1]))
		n++
	}
	return append(env, count+strconv.Itoa(n))
}

// elsewhere holds for the variables with which git, in a hook say, points the
// programs that it starts at one repository. See git(1), Environment Variables.
func elsewhere(name string) bool {
	switch name {
	case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
		"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX", "GIT_NAMESPACE", "GIT_IMPLICIT_WORK_TREE",
		"GIT_QUARANTINE_PATH", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE",
		"GIT_DEFAULT_HASH", "GIT_CONFIG":
		return true
	}
	return false
}
