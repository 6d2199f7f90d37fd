package dockerfile

import (
	"net/url"
	"strings"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

// remote is a source that lies elsewhere.
type remote struct {
	// pinned says that the address itself says what it must be: a Git commit.
	pinned bool
}

var (
	protocol = lazyregexp.New(`^([a-zA-Z0-9]+)://`)
	scpStyle = lazyregexp.New(`^[a-zA-Z0-9-_]+@[a-zA-Z0-9-.]+:.*?(?:\?(.*?))?(?:#(.*))?$`)
	commitID = lazyregexp.New(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
)

// parseRemote tells what BuildKit fetches from what it takes from the context,
// for which it returns nil. An http address is a Git repository's if its path
// ends with .git.
func parseRemote(source string) *remote {
	if m := protocol.FindStringSubmatch(source); m != nil {
		u, err := url.Parse(source)
		switch scheme := strings.ToLower(m[1]); {
		case scheme == "http" || scheme == "https":
			if err == nil && strings.HasSuffix(u.Path, ".git") {
				return git(u.Query(), u.Fragment)
			}
			if strings.HasPrefix(source, scheme+"://") { // elsewhere BuildKit takes it for a path
				return &remote{}
			}
		case (scheme == "git" || scheme == "ssh") && err == nil:
			return git(u.Query(), u.Fragment)
		}
		return nil
	}
	if m := scpStyle.FindStringSubmatch(source); m != nil {
		if query, err := url.ParseQuery(m[1]); err == nil {
			return git(query, m[2])
		}
	}
	return nil
}

// git is a repository at the reference that the query or the fragment names.
func git(query url.Values, fragment string) *remote {
	ref, _, _ := strings.Cut(fragment, ":")
	if ref == "" {
		ref = query.Get("ref")
	}
	return &remote{pinned: query.Get("checksum") != "" || query.Get("commit") != "" || commitID.MatchString(ref)}
}
