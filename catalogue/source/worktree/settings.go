package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

// configured is what configuration and attributes outside of the working directory
// say, as far as it is told without asking git.
type configured struct {
	hash string
	// refers says that configuration may include other files, or name others
	// with attributes: what they say has to be asked for.
	refers bool
	sparse bool // the checkout
}

var refers = lazyregexp.New(`(?i)include|attributesfile`)

func (c *checkout) configured() (*configured, error) {
	s := &configured{}
	h := sha256.New()
	for _, file := range []string{
		filepath.Join(c.common, "config"), filepath.Join(c.gitDir, "config.worktree"),
		filepath.Join(c.common, "info", "attributes"), filepath.Join(c.gitDir, "info", "sparse-checkout"),
	} {
		content, err := os.ReadFile(file)
		if ignoreMissing(err) != nil {
			return nil, err
		}
		fmt.Fprintf(h, "%v %q\n", err == nil, content)
		s.refers = s.refers || refers.Match(content)
		s.sparse = filepath.Base(file) == "sparse-checkout" && err == nil
	}
	s.user(h, c.env)
	s.hash = hex.EncodeToString(h.Sum(nil))
	return s, nil
}

// user takes in where git finds the user's configuration and attributes, see
// git-config(1), Files, and what the environment sets.
func (s *configured) user(w io.Writer, env []string) {
	vars := map[string]string{}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
		if strings.HasPrefix(name, "GIT_CONFIG") || strings.HasPrefix(name, "GIT_ATTR") {
			fmt.Fprintf(w, "%q\n", v)
			s.refers = s.refers || refers.MatchString(value)
		}
	}
	home := vars["HOME"]
	fmt.Fprintf(w, "%q\n", home)
	xdg := vars["XDG_CONFIG_HOME"]
	if xdg == "" {
		xdg = filepath.Join(home, ".config")
	}
	for _, file := range []string{
		"/etc/gitconfig", "/etc/gitattributes", vars["GIT_CONFIG_SYSTEM"], vars["GIT_CONFIG_GLOBAL"],
		filepath.Join(home, ".gitconfig"), filepath.Join(xdg, "git", "config"), filepath.Join(xdg, "git", "attributes"),
	} {
		info, err := os.Stat(file)
		if err != nil {
			continue
		}
		fmt.Fprintf(w, "%q %s\n", file, fileKey(info))
		content, err := os.ReadFile(file)
		s.refers = s.refers || err != nil || refers.Match(content)
	}
}

// effective is all of the configuration, with what it includes, and the state of
// the attributes that it names.
type effective struct {
	hash      string
	foldsCase bool // names may differ from those in the index by case
}

// effective asks git.
func (c *checkout) effective(ctx context.Context, store *store, work *scratch) (*effective, error) {
	out, _, err := c.run(ctx, store.objects(), work.path("none"), nil, "config", "--list", "--show-origin", "-z")
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	h.Write(out)
	e := &effective{}
	attributes := ""
	fields := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(fields); i += 2 { // origin, <name> LF <value>
		switch name, value, set := strings.Cut(fields[i+1], "\n"); name {
		case "core.ignorecase":
			e.foldsCase = !set || !saysNo(value)
		case "core.attributesfile":
			attributes = value
		}
	}
	if strings.HasPrefix(attributes, "~") || strings.HasPrefix(attributes, "%") { // a user's home, or where git lies
		out, _, err := c.run(ctx, store.objects(), work.path("none"), nil, "config", "--type=path", "-z", "core.attributesFile")
		if err != nil {
			return nil, err
		}
		attributes = strings.TrimSuffix(string(out), "\x00")
	}
	if attributes != "" {
		if !filepath.IsAbs(attributes) {
			attributes = filepath.Join(c.root, attributes)
		}
		content, err := os.ReadFile(attributes)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.log.DebugContext(ctx, "git passes over attributes that cannot be read", "file", attributes, "error", err)
		}
		fmt.Fprintf(h, "%v %q\n", err == nil, content)
	}
	e.hash = hex.EncodeToString(h.Sum(nil))
	return e, nil
}

// saysNo holds for what git-config(1), Values, takes for false.
func saysNo(value string) bool {
	switch strings.ToLower(value) {
	case "", "no", "off", "false", "0":
		return true
	}
	return false
}
