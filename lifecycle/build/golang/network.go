package golang

import (
	"fmt"
	"strings"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
	"github.com/pharos-dev/pharos/lifecycle"
)

var (
	networkFailure = lazyregexp.New(`(?m)^(go: |\S+\.go:\d+:\d+: \S+@v\S+: |\s+\S+@v\S+: ).*(dial tcp|no such host|connection refused|connection reset|i/o timeout|TLS handshake timeout|proxyconnect|: EOF$)`)
	// refusal is what Git and ssh say when a server does not let them in. The Go
	// command indents what they say.
	refusal = lazyregexp.New(`(?mi)^\s+(\S+@\S+: Permission denied \(|Host key verification failed|fatal: Could not read from remote repository|` +
		`fatal: could not read (Username|Password) for|fatal: Authentication failed for)`)
)

// isNetworkFailure says whether the Go command could not reach what it downloads
// from.
func isNetworkFailure(output string) bool { return networkFailure.MatchString(output) }

// isRefusal says whether a Git server did not let the Go command in.
func isRefusal(output string) bool { return refusal.MatchString(output) }

// networkError is the error of a Go command that could not download; nil if it
// failed otherwise.
func (b *build) networkError(op, output string, err error) error {
	advice := "Check the network and GOPROXY, or vendor the modules (go mod vendor)."
	switch {
	case isRefusal(output):
		advice = "A Git server does not let this machine read a module: check its credentials and GOPRIVATE, or vendor the modules (go mod vendor)."
	case !isNetworkFailure(output):
		return nil
	}
	return &lifecycle.Error{
		Op: op, On: b.request.State.Image.Name, Class: lifecycle.ErrUnreachable,
		Err: fmt.Errorf("%w\n%s", err, strings.TrimSpace(output)), Advice: advice,
	}
}
