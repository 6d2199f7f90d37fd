package render

import (
	"net/url"
	"strings"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

// userAtHost is how kustomize recognizes "git@host:path".
var userAtHost = lazyregexp.New(`^[a-zA-Z][a-zA-Z0-9-]*@`)

// remote reports whether kustomize could take an entry for an address that it
// fetches. It answers yes more often than kustomize, never less often: even a
// folder that exists is cloned over if its path looks like a repository, and
// whatever is a URL to net/url is downloaded before the file system is asked.
//
// The rules are those of kustomize's loader: api/internal/loader
// (IsRemoteFile) and api/internal/git (NewRepoSpecFromURL).
func remote(entry string) bool {
	lower := strings.ToLower(strings.TrimSpace(entry))
	for _, prefix := range []string{"git::", "http:", "https:", "ssh:", "file:", "github.com/", "github.com:"} {
		if strings.HasPrefix(lower, prefix) {
			return true
		}
	}
	if strings.Contains(lower, "://") || userAtHost.MatchString(lower) {
		return true
	}
	u, err := url.Parse(entry)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https")
}
