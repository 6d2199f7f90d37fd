package dockerfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/lazyregexp"
	"github.com/pharos-dev/pharos/lifecycle"
)

// explain gives what a backend ended with its form: whose fault it is, and what
// to do.
func (b *build) explain(ctx context.Context, p *plan, err error) error {
	name := b.request.State.Image.Name
	if lacking, ok := errors.AsType[*NotSuppliedError](err); ok {
		return &lifecycle.Error{Op: "build image", On: name, Err: lacking,
			Advice: cmp.Or(lacking.Advice, "Supply them to what builds; their values are no part of the repository") + ". Or take " + plural(len(lacking.Secrets)+len(lacking.SSH), "it", "them") + " out of the recipe."}
	}
	failed, ok := errors.AsType[*SolveError](err)
	if !ok {
		if errors.As(err, new(*lifecycle.Error)) || errors.As(err, new(*lifecycle.BuildError)) {
			return err
		}
		return &lifecycle.Error{Op: "build image", On: name, Err: err}
	}
	return b.failed(ctx, p, failed)
}

var (
	// notThere is what BuildKit says of a source that its context does not hold.
	notThere = lazyregexp.New(`failed to calculate checksum of ref [^"]*: "([^"]+)": not found|failed to compute cache key: .*"([^"]+)": not found|lstat (/[^:]+): no such file or directory`)
	// refused is what BuildKit says of an image that the policy keeps out.
	refused = lazyregexp.New(`source "(?:docker-image://)?([^"]+)" denied by policy`)
	// exited is what BuildKit says of a command that failed.
	exited = lazyregexp.New(`process "(?s:.*)" did not complete successfully: (exit code: \d+|.*)`)
	// registryFault is what BuildKit says when a registry does not do what it is asked.
	registryFault = lazyregexp.New(`failed to (push|resolve source metadata for|authorize|fetch oauth token|fetch anonymous token|copy|do request)|unexpected status( code| from)|httpReadSeeker|dial tcp|server gave HTTP response to HTTPS client|i/o timeout`)
	// remoteStep is what BuildKit calls a step that fetches what ADD names.
	remoteStep = lazyregexp.New(`^(\[[^]]*\] )?(ADD .*)?(https?|git)://`)
	// machineFault is what BuildKit, and what it runs, says when its machine is to
	// blame.
	machineFault = lazyregexp.New(`(?i)no space left on device|disk quota exceeded|cannot allocate memory|too many open files|input/output error|read-only file system|exit code: 137\b`)
	// ended is what is said when BuildKit goes away in the middle.
	ended = lazyregexp.New(`code = Unavailable|error reading from server: EOF|connection refused|transport is closing|connection reset by peer|no active session|broken pipe`)
)

func (b *build) failed(ctx context.Context, p *plan, e *SolveError) error {
	name, text := b.request.State.Image.Name, e.Err.Error()
	broken := &lifecycle.Error{Op: "build image", On: name, Err: e}
	ran := exited.FindStringSubmatch(text)
	switch {
	case machineFault.MatchString(text) || ran != nil && machineFault.MatchString(lastLines(e.Output)):
		broken.Advice = "The machine that BuildKit runs on is to blame, not the commit: it is full, or has too little memory. Make room there, for example with: buildctl prune"
		if said := machineFault.FindString(text + "\n" + lastLines(e.Output)); ran != nil {
			broken.Err = &SolveError{File: e.File, Line: e.Line, Step: e.Step, Output: e.Output, Err: fmt.Errorf("%s: %w", said, e.Err)}
		}
		return broken
	case ran != nil:
		return &lifecycle.BuildError{Image: name, Reason: place(e, instruction(e.Step)+": "+ran[1]), Output: e.Output, Err: e}
	}
	if m := notThere.FindStringSubmatch(text); m != nil {
		return b.sourceMissing(ctx, e, cmp.Or(m[1], m[2], m[3]))
	}
	if m := privileged.FindStringSubmatch(text); m != nil {
		return b.notPrivileged(ctx, e, m[1])
	}
	if notUTF8.MatchString(text) {
		if names := b.notUTF8(ctx); names != "" {
			return &lifecycle.BuildError{Image: name, Err: e, Reason: "BuildKit takes only files whose names are UTF-8, and its inputs hold " + names}
		}
	}
	if m := refused.FindStringSubmatch(text); m != nil {
		return &lifecycle.BuildError{Image: name, Err: e, Output: e.Output, Reason: place(e, "it uses "+m[1]+
			", which neither the recipe nor pharos.lock names by digest: an ONBUILD instruction of a base, or another frontend's own syntax, asks for it")}
	}
	switch {
	case ended.MatchString(text) && !registryFault.MatchString(text):
		broken.Class, broken.Advice = lifecycle.ErrUnreachable, "BuildKit went away during the build. Look at its log, and build again: what is done already is in its cache."
		return broken
	case registryFault.MatchString(text):
		return b.remoteFailed(p, e, text)
	case e.Line > 0:
		return &lifecycle.BuildError{Image: name, Reason: place(e, lastOf(text)), Output: e.Output, Err: e}
	}
	return broken
}

// remoteFailed is about a registry: one that does not have a base is the
// recipe's fault, others are unreachable.
func (b *build) remoteFailed(p *plan, e *SolveError, text string) error {
	name := b.request.State.Image.Name
	if strings.HasSuffix(text, ": not found") {
		for _, pin := range p.pins {
			if strings.Contains(text, digestOf(pin.Image)) {
				return &lifecycle.BuildError{Image: name, Err: e, Reason: fmt.Sprintf("its base %s is not in the registry", pin.Image)}
			}
		}
	}
	err := &lifecycle.Error{Op: "build image", On: name, Class: lifecycle.ErrUnreachable, Err: e,
		Advice: "Check that BuildKit can reach the registry, from where it runs and by the name that is used here."}
	switch {
	case remoteStep.MatchString(e.Step):
		err.Advice = "Check that BuildKit can reach the address that ADD fetches from, from where it runs."
	case strings.Contains(text, "401 Unauthorized"), strings.Contains(text, "403 Forbidden"), strings.Contains(text, "failed to authorize"):
		err.Advice = "Log in to the registry, for example with docker login, as somebody who may push there."
	case strings.Contains(text, "HTTP response to HTTPS client"):
		err.Advice = "The registry speaks plain HTTP: allow it with registry.insecure: true in the Target, or, for a base, in BuildKit's own configuration."
	}
	return err
}

// sourceMissing is about a path that BuildKit did not find in the context.
func (b *build) sourceMissing(ctx context.Context, e *SolveError, name string) error {
	name = path.Clean("/" + name)[1:]
	found := newProblems(b.request.State.Image.Name)
	if _, err := b.request.Full.Lookup(ctx, name); err == nil {
		b.missSource(ctx, name, found)
	}
	err := found.BuildError("", e)
	if len(err.Missing) > 0 {
		err.Reason = place(e, err.Reason)
		return err
	}
	err.Reason = place(e, name+" is not there")
	if _, inputs := b.request.State.Inputs.Lookup(ctx, name); errors.Is(inputs, source.ErrNotFound) {
		err.Reason += ": the context is the root of the tree, and holds nothing at that path"
	}
	return err
}

// place puts where it is before what is wrong.
func place(e *SolveError, reason string) string {
	switch {
	case e.File != "" && e.Line > 0:
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, reason)
	case e.File != "":
		return e.File + ": " + reason
	}
	return reason
}

// instruction leaves out of a step's name where it stands: "[build 2/4] ".
func instruction(step string) string {
	if _, rest, ok := strings.Cut(step, "] "); ok && strings.HasPrefix(step, "[") {
		step = rest
	}
	return cmp.Or(step, "a command")
}

// lastOf leaves out what BuildKit puts before the cause.
func lastOf(text string) string {
	for _, prefix := range []string{"failed to solve: ", "rpc error: code = Unknown desc = ", "failed to solve with frontend dockerfile.v0: ", "failed to create LLB definition: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return text
}

// lastLines are those in which a tool says why it gave up.
func lastLines(output string) string {
	const most = 5
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
