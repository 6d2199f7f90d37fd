package transport

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
	"github.com/pharos-dev/pharos/lifecycle"
)

// gitError says that the git program failed, in its own words.
type gitError struct {
	command  string
	err      error
	stderr   string
	rejected string // why the server, or git for it, did not take the reference
	location string // where the server redirects to, if it does and says so
}

func (e *gitError) Error() string {
	said := e.stderr
	if e.rejected != "" {
		said = e.rejected + "; " + said
	}
	return fmt.Sprintf("git %s: %v: %s", e.command, e.err, said)
}

func (e *gitError) Unwrap() error { return e.err }

// readError says that an object of the tree could not be read.
type readError struct{ err error }

func (e *readError) Error() string { return e.err.Error() }
func (e *readError) Unwrap() error { return e.err }

// fault is what the words of git mean.
type fault struct {
	words  *lazyregexp.Regexp
	again  bool // another try may succeed
	absent bool // there is no such repository
	advice string
}

// faults are the words of git 2.25 and later, of its HTTP transport (remote-curl.c)
// and of send-pack.
var faults = []fault{
	{words: lazyregexp.New(`could not read (Username|Password)|Authentication failed|error: 401`),
		advice: "The Git server asks for credentials: configure a credential helper for it (git help credentials)."},
	{words: lazyregexp.New(`error: 403|Access denied`),
		advice: "The Git server does not allow the push: get the right to push to it, and see that it takes pushes by HTTP (http.receivepack)."},
	{words: redirect,
		advice: "The Git server redirects to another address, which is not followed: credentials could end up there. Write the address that it redirects to in git.push of the target."},
	{words: lazyregexp.New(`repository '.*' not found|error: 404`), absent: true,
		advice: "There is no such repository on the Git server: create it, or correct git.push in the target."},
	{words: lazyregexp.New(`mismatched algorithms|does not support this repository's hash algorithm`),
		advice: "The server's repository has object IDs of another kind: create it with the same git init --object-format as this one."},
	{words: lazyregexp.New(`not valid: is this a git repository`),
		advice: "The address is not one of a Git repository, or the server does not speak smart HTTP."},
	{words: lazyregexp.New(`remote rejected|hook declined`),
		advice: "The Git server refused the reference: allow refs/pharos/* in its hooks and rules."},
}

// redirect are the words of an answer that sends git elsewhere.
var redirect = lazyregexp.New(`error: 30[12378]`)

// lost are the words of a reference that somebody changed meanwhile.
var lost = lazyregexp.New(`stale info|failed to update ref|cannot lock ref|reference already exists|failed to lock|incorrect old value`)

// judge says whose fault it is and what to do.
func (e *gitError) judge() (advice string, class error) {
	if f := e.fault(); f != nil {
		if e.location != "" {
			return "The Git server redirects to " + e.location + ", which is not followed: credentials could end up there. If that is right, write that address in git.push of the target.", lifecycle.ErrUnreachable
		}
		return f.advice, lifecycle.ErrUnreachable
	}
	if e.command == "push" || e.command == "ls-remote" {
		return "Check that the Git server runs, and that git.push in the target is its address.", lifecycle.ErrUnreachable
	}
	return "", nil
}

func (e *gitError) fault() *fault {
	said := e.rejected + "\n" + e.stderr
	if lost.MatchString(said) {
		return &fault{again: true}
	}
	for _, f := range faults {
		if f.words.MatchString(said) {
			return &f
		}
	}
	return nil
}

func (e *gitError) redirected() bool { return redirect.MatchString(e.stderr) }

var locationHeader = lazyregexp.New(`(?im)<= Recv header: location: (\S+)`)

// redirection finds in git's trace of HTTP headers which repository the server
// redirects to. The address may come with more, which is kept out: it is shown.
func redirection(trace string) string {
	headers := locationHeader.FindAllStringSubmatch(trace, -1)
	if headers == nil {
		return ""
	}
	to, err := url.Parse(headers[len(headers)-1][1])
	if err != nil || to.Host == "" {
		return ""
	}
	path := to.Path
	for _, end := range []string{"/info/refs", "/git-upload-pack", "/git-receive-pack"} {
		path = strings.TrimSuffix(path, end)
	}
	return (&url.URL{Scheme: to.Scheme, Host: to.Host, Path: path}).String()
}

// absent holds if the server has no such repository. Some servers make one when it
// is pushed to.
func absent(err error) bool {
	failed, ok := errors.AsType[*gitError](err)
	if !ok {
		return false
	}
	f := failed.fault()
	return f != nil && f.absent
}

// passing holds for what may well succeed a little later.
func passing(err error) bool {
	var failed *gitError
	if !errors.As(err, &failed) || failed.command != "push" && failed.command != "ls-remote" || failed.lacksObjects() {
		return false
	}
	f := failed.fault()
	return f == nil || f.again
}

var lacking = lazyregexp.New(`(?i)(unable to|could not) (read|parse) (tree |object )?[0-9a-f]{40}|missing (blob|tree|object)|bad (tree|object)|pack-objects died|remote unpack failed`)

// lacksObjects holds if git found that objects are missing that are to be sent.
func (e *gitError) lacksObjects() bool {
	return e.command == "push" && lacking.MatchString(e.rejected+"\n"+e.stderr)
}

// rejection finds in what git push --porcelain printed why a reference was not
// taken: "!" TAB from:to TAB [remote rejected] (why).
func rejection(out string) string {
	for line := range strings.Lines(out) {
		if f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3); len(f) == 3 && f[0] == "!" {
			return f[2]
		}
	}
	return ""
}

var userinfo = lazyregexp.New(`://[^/@\s'"]*@`)

// redact takes user names and passwords out of addresses, such as those that the
// user's configuration makes of ours.
func redact(s string) string { return userinfo.ReplaceAllString(s, "://") }

// isStatus holds if a program ended with that status.
func isStatus(err error, status int) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && exit.ExitCode() == status
}

// retry calls f until it succeeds, fails for good, or has been tried three times.
func retry(ctx context.Context, f func() error) error {
	delay := 300 * time.Millisecond
	for n := 1; ; n++ {
		err := f()
		if err == nil || n == 3 || !passing(err) {
			return err
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return ctx.Err()
		}
		delay *= 4
	}
}
