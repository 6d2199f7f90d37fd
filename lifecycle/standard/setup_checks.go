package standard

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/lifecycle"
)

// gitChecks look whether the target's Git server answers for the repository at the
// address that commits are pushed to. The one that the target fetches from may be
// seen from inside the cluster only.
func gitChecks(t Target, o Options) []lifecycle.Check {
	if t.Git == nil {
		return nil
	}
	client := &http.Client{Transport: o.Transport, Timeout: 15 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if o.Transport == nil {
		client.Transport = &http.Transport{} // no proxy of the environment
	}
	return []lifecycle.Check{{Name: "the Git server", Run: func(ctx context.Context) error { return askGit(ctx, client, t.Git.Push) }}}
}

// askGit begins what git does to fetch. A server that wants credentials has
// answered: git's own helpers have them.
func askGit(ctx context.Context, client *http.Client, address string) error {
	fail := func(err error, advice string) error {
		return &lifecycle.Error{Op: "fetch from", On: address, Class: lifecycle.ErrUnreachable, Err: err, Advice: advice}
	}
	const check = "Check spec.git of the target in pharos.yaml, and that the server is up."
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+"/info/refs?service=git-upload-pack", nil)
	if err != nil {
		return fail(err, check)
	}
	answer, err := client.Do(r)
	if err != nil {
		return fail(err, check)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<16)) // so that the connection can be used again
	switch {
	case answer.StatusCode == http.StatusUnauthorized:
		return nil
	case answer.StatusCode != http.StatusOK:
		return fail(fmt.Errorf("the server answers %s", answer.Status), check)
	case !strings.HasPrefix(answer.Header.Get("Content-Type"), "application/x-git-upload-pack-advertisement"):
		return fail(fmt.Errorf("it is no Git server: it answers with %q", answer.Header.Get("Content-Type")), check)
	}
	return nil
}
