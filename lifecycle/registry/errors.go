package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/pharos-dev/pharos/internal/fault"
	"github.com/pharos-dev/pharos/lifecycle"
)

// fail makes an error of what an operation on a repository ended with.
func fail(ctx context.Context, op string, on fmt.Stringer, repo name.Repository, err error) error {
	if err == nil {
		return nil
	}
	e := &lifecycle.Error{Op: op, On: on.String(), Err: &cause{text: describe(err), err: err}}
	if ctx.Err() != nil {
		e.Err = context.Cause(ctx)
		return e
	}
	host := repo.RegistryStr()
	var answer *transport.Error
	switch {
	case errors.Is(err, errPlainHTTP):
		e.Class = lifecycle.ErrUnreachable
		e.Advice = fmt.Sprintf("If %[1]s really speaks plain HTTP, allow it: a Target with registry.insecure: true, kubectl pharos lock with --insecure-registry %[1]s.", host)
	case errors.Is(err, errRedirects):
		e.Class = lifecycle.ErrUnreachable
		e.Advice = fmt.Sprintf("Check where %s leads to: a proxy, or its own configuration, sends requests round in a circle.", host)
	case errors.Is(err, errPages):
		e.Class = lifecycle.ErrUnreachable
		e.Advice = fmt.Sprintf("Check that %s is a registry, and what proxies are before it.", host)
	case errors.As(err, &answer):
		e.Advice, e.Class = classify(answer, cmp.Or(ledTo(answer), host), repo)
	case fault.OfMachine(err):
		e.Advice = "This machine is to blame, not the registry: look at the file that is named, at the space on its disk, and at the limit of open files (ulimit -n)."
	case fault.OfConnection(err):
		e.Class = lifecycle.ErrUnreachable
		e.Advice = fmt.Sprintf("Check that the registry %s runs and can be reached from here.", host)
	}
	return e
}

// failRead is fail for what only reads from a registry: whatever else goes wrong
// then is the fault of what answers, or of how we are to log in there.
func failRead(ctx context.Context, op string, ref name.Reference, err error) error {
	err = fail(ctx, op, ref, ref.Context(), err)
	if e, ok := errors.AsType[*lifecycle.Error](err); ok && e.Class == nil && ctx.Err() == nil && !fault.OfMachine(err) {
		host := ref.Context().RegistryStr()
		e.Class = lifecycle.ErrUnreachable
		e.Advice = cmp.Or(e.Advice, fmt.Sprintf("Check that %[1]s is a registry, and how you are logged in to %[1]s.", host))
	}
	return err
}

// ledTo is the host that an answer comes from, if a request was led to another
// than the registry's.
func ledTo(answer *transport.Error) string {
	if answer.Request == nil || redirects(answer.Request) == 0 {
		return ""
	}
	return answer.Request.URL.Host
}

func classify(answer *transport.Error, host string, repo name.Repository) (advice string, class error) {
	switch code := answer.StatusCode; {
	case code == http.StatusUnauthorized:
		return fmt.Sprintf("Log in to %s, for example with: docker login %s", host, host), lifecycle.ErrUnreachable
	case code == http.StatusForbidden:
		return fmt.Sprintf("Ask for access to %s, or log in as somebody who has it. Some registries answer so for a repository that does not exist.", repo), lifecycle.ErrUnreachable
	case code == http.StatusNotFound:
		return fmt.Sprintf("Check that the repository %s exists: some registries want it to be created first.", repo), lifecycle.ErrUnreachable
	case code == http.StatusTooManyRequests:
		return fmt.Sprintf("The registry %s wants fewer requests; wait, or log in for a higher limit.", host), lifecycle.ErrUnreachable
	case code >= 500:
		return fmt.Sprintf("The registry %s fails; look at its log.", host), lifecycle.ErrUnreachable
	}
	return "", nil
}

// notFound says whether the registry answered that there is no such thing.
func notFound(err error) bool {
	var answer *transport.Error
	return errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound
}

// cause says what happened in words that hold no address: addresses of uploads
// and redirects carry credentials in their queries.
type cause struct {
	text string
	err  error
}

func (c *cause) Error() string { return c.text }
func (c *cause) Unwrap() error { return c.err }

// maxDetail bounds what is quoted of a registry's answer.
const maxDetail = 200

func describe(err error) string {
	var answer *transport.Error
	if errors.As(err, &answer) {
		return describeAnswer(answer)
	}
	if errors.Is(err, errPlainHTTP) {
		return errPlainHTTP.Error()
	}
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err.Error()
	}
	return err.Error()
}

func describeAnswer(answer *transport.Error) string {
	var b strings.Builder
	b.WriteString("the registry ")
	if host := ledTo(answer); host != "" {
		b.WriteString("leads to " + host + ", which ")
	}
	b.WriteString("answers")
	if answer.Request != nil {
		fmt.Fprintf(&b, " %s %s with", answer.Request.Method, answer.Request.URL.Path)
	}
	fmt.Fprintf(&b, " %d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
	for _, d := range answer.Errors {
		detail := strings.TrimSuffix(fmt.Sprintf("%s: %s", d.Code, d.Message), ": ")
		if len(detail) > maxDetail {
			detail = detail[:maxDetail] + "…"
		}
		b.WriteString("; " + strings.ToValidUTF8(detail, "…"))
	}
	return b.String()
}
