package transport

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
)

// Config says which Git server to push to, and from where.
type Config struct {
	// URL is the address of the server's repository, http:// or https://, as
	// this machine sees it. A user name and a password in it are used and not
	// shown. Required.
	URL string
	// Dir is the root of the checkout that the trees are of, or a folder in it:
	// objects that it holds are not copied. Trees of elsewhere can be pushed
	// too. The default is no checkout; Folder is required then.
	Dir string
	// Folder is where to keep the private repository, see the package comment.
	// The default is pharos/transport in the Git folder of Dir.
	Folder string
	// Git is the git program: a path, or a name to look for in PATH. The
	// default is "git".
	Git string
	// Env is the environment of the git program. Variables that point it at one
	// repository, as it sets them for its hooks, are taken out. The default is
	// that of this process.
	Env []string
	// Now tells the time, by which inputs are forgotten. The default is time.Now.
	Now func() time.Time
	// Log is told what git remarks on. The default discards.
	Log *slog.Logger
}

// Remote is the repository of a Git server. It is safe for concurrent use, also
// by several processes on the same checkout.
type Remote struct {
	git    git
	folder string
	common string // the checkout's Git folder, "" if there is none
	now    func() time.Time
}

var _ lifecycle.Transport = (*Remote)(nil)

// New returns the remote repository of that address. It makes no call.
//
// Errors: source.ErrNoRepository and source.ErrUnsupported for Dir;
// source.ErrNoGit; any other is about the Config.
func New(c Config) (*Remote, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	address, err := parseAddress(c.URL)
	if err != nil {
		return nil, fmt.Errorf("transport: Config.URL %w", err)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	r := &Remote{folder: c.Folder, now: c.Now}
	config := "" // the checkout's
	if c.Dir != "" {
		repo, err := source.Open(c.Dir)
		if err != nil {
			return nil, err
		}
		common, err := repo.CommonDir()
		if err != nil {
			return nil, err
		}
		r.common, config = common, filepath.Join(common, "config")
		if r.folder == "" {
			r.folder = filepath.Join(common, "pharos", "transport")
		}
	}
	if r.folder == "" {
		return nil, errors.New("transport: one of Config.Dir and Config.Folder is required")
	}
	if r.folder, err = filepath.Abs(r.folder); err != nil {
		return nil, err
	}
	name := c.Git
	if name == "" {
		name = "git"
	}
	program, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("%w to push with: %w", source.ErrNoGit, err)
	}
	if program, err = filepath.Abs(program); err != nil { // it is run in another folder
		return nil, err
	}
	r.git = git{program: program, env: environment(c.Env, address), address: address, config: config, log: c.Log}
	return r, nil
}

// address is where a server is. Its text has no user name and no password.
type address struct {
	text string
	user *url.Userinfo
}

func parseAddress(text string) (address, error) {
	if text == "" {
		return address{}, errors.New("is required")
	}
	u, err := url.Parse(text)
	switch {
	case err != nil: // it would quote the address
		return address{}, errors.New("is no well-formed URL")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return address{}, errors.New("is not http:// or https:// and a host: objects are pushed by smart HTTP")
	case u.RawQuery != "" || u.Fragment != "":
		return address{}, errors.New("has a query or a fragment, which Git does not use")
	}
	user := u.User
	u.User = nil
	return address{text: u.String(), user: user}, nil
}
