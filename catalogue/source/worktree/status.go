package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// state is what a tree or an index has at a path; the zero value is nothing.
type state struct {
	mode source.Mode
	id   source.ID
}

// line is a path that is not in HEAD, the index and the working directory alike.
type line struct {
	path        string
	head, index state
	// onDisk is the mode that the file has, as git stores it.
	onDisk source.Mode
	// edited says that the file is not as in the index; so is one that is not
	// in the index and not ignored, which is untracked.
	edited, untracked, unmerged bool
}

// status is what git status says.
type status struct {
	head       source.ID // the commit, "" if there is none
	lines      []line
	index      string      // which state of the user's index it is of
	configured *configured // as it was before
	effective  *effective  // nil as long as nobody has asked
}

// names tells all names that git knows of from any others.
func (st *status) names() string {
	h := sha256.New()
	fmt.Fprintln(h, st.index)
	for _, l := range st.lines {
		if l.untracked || l.onDisk == 0 {
			fmt.Fprintf(h, "%q\n", l.path)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// status compares HEAD, the user's index and the working directory. The index
// is a copy, which git refreshes as it would the user's: what it found out is
// there the next time.
func (c *checkout) status(ctx context.Context, store *store, work *scratch) (*status, error) {
	configured, err := c.configured()
	if err != nil {
		return nil, err
	}
	for anew := false; ; anew = true {
		index, err := c.private.index(c.gitDir, work, configured.hash, anew)
		if err != nil {
			return nil, err
		}
		st, err := c.ask(ctx, store, work, index, configured)
		var failed *GitError
		if errors.As(err, &failed) && index.kept {
			continue // perhaps a power failure has broken it
		}
		if err != nil {
			return nil, err
		}
		seen, settled := c.attributesSeen(st, work)
		if index.kept && seen != index.seen {
			continue // a file that was as in the index may not be by other attributes
		}
		if !settled {
			return st, nil
		}
		return st, index.keep(seen)
	}
}

// attributesSeen tells the state of the .gitattributes, and of what
// configuration refers to, from any other. What git does not list of the former
// is as in the index. It is settled if the next change of them will be seen.
func (c *checkout) attributesSeen(st *status, work *scratch) (seen string, settled bool) {
	h := sha256.New()
	settled = true
	for _, l := range st.lines {
		if path.Base(l.path) != attributesFile || !l.edited {
			continue
		}
		key := ""
		if info, err := os.Lstat(filepath.Join(c.root, filepath.FromSlash(l.path))); err == nil {
			key = fileKey(info)
			settled = settled && c.settled(info, work.began)
		}
		fmt.Fprintf(h, "%q %s\n", l.path, key)
	}
	if st.configured.refers {
		fmt.Fprintln(h, st.effective.hash)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), settled
}

// ask has one git program look at the tracked files while another looks for new
// ones: each of them takes half of the time that git status takes for both. If
// configuration is in other files too, a third reads it.
func (c *checkout) ask(ctx context.Context, store *store, work *scratch, index *index, configured *configured) (*status, error) {
	g, ctx := errgroup.WithContext(ctx)
	var effective *effective
	if configured.refers {
		g.Go(func() (err error) {
			effective, err = c.effective(ctx, store, work)
			return err
		})
	}
	var st *status
	g.Go(func() error {
		out, _, err := c.run(ctx, store.objects(), index.path, nil,
			"status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind",
			"--untracked-files=no", "--no-renames", "--ignore-submodules=dirty")
		if err != nil {
			return err
		}
		st, err = parseStatus(out)
		return err
	})
	var untracked []line
	g.Go(func() error {
		out, remarks, err := c.run(ctx, store.objects(), index.path, nil, "ls-files", "--others", "--exclude-standard", "-z")
		if err != nil {
			return err
		}
		for path := range strings.SplitSeq(string(out), "\x00") {
			if path != "" {
				untracked = append(untracked, line{path: path, edited: true, untracked: true})
			}
		}
		return c.unreadable(remarks)
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	st.index, st.configured, st.effective = index.name, configured, effective
	st.lines = append(st.lines, untracked...)
	return st, nil
}

// parseStatus reads git-status(1), Porcelain Format Version 2, with NULs.
func parseStatus(out []byte) (*status, error) {
	st := &status{}
	for record := range strings.SplitSeq(string(out), "\x00") {
		if record == "" {
			continue
		}
		kind, rest, _ := strings.Cut(record, " ")
		ok := true
		switch kind {
		case "#":
			if oid, is := strings.CutPrefix(rest, "branch.oid "); is && oid != "(initial)" {
				st.head = source.ID(oid)
			}
		case "1": // XY sub mH mI mW hH hI path
			var l line
			l, ok = parseChanged(rest)
			st.lines = append(st.lines, l)
		case "u": // XY sub m1 m2 m3 mW h1 h2 h3 path
			fields := strings.SplitN(rest, " ", 10)
			if ok = len(fields) == 10; ok {
				st.lines = append(st.lines, line{path: fields[9], unmerged: true})
			}
		default:
			ok = false
		}
		if !ok {
			return nil, fmt.Errorf("git status printed %q, which is not its format", record)
		}
	}
	return st, nil
}

func parseChanged(rest string) (line, bool) {
	f := strings.SplitN(rest, " ", 8)
	if len(f) != 8 || len(f[0]) != 2 {
		return line{}, false
	}
	var modes [3]source.Mode
	for i := range modes {
		m, err := strconv.ParseUint(f[2+i], 8, 32)
		if err != nil {
			return line{}, false
		}
		modes[i] = source.Mode(m)
	}
	l := line{path: f[7], edited: f[0][1] != '.', onDisk: modes[2]}
	l.head, l.index = newState(modes[0], f[5]), newState(modes[1], f[6])
	return l, true
}

// newState knows nothing by its mode: git prints an ID of zeros for it, and one
// for what is only intended to be added.
func newState(mode source.Mode, id string) state {
	if mode == 0 || strings.Trim(id, "0") == "" {
		return state{}
	}
	return state{mode, source.ID(id)}
}

// refuse returns an error for what git add would take in a way that no user
// means.
func (c *checkout) refuse(st *status) error {
	var unmerged, nested []string
	for _, l := range st.lines {
		switch {
		case l.unmerged:
			unmerged = append(unmerged, l.path)
		case strings.HasSuffix(l.path, "/"),
			l.edited && l.onDisk == source.ModeSubmodule && l.index.mode != source.ModeSubmodule:
			nested = append(nested, l.path)
		}
	}
	var errs []error
	if unmerged != nil {
		errs = append(errs, &PathsError{c.root, ErrUnmerged, unmerged, "resolve the conflicts and git add the files"})
	}
	if nested != nil {
		errs = append(errs, &PathsError{c.root, ErrNested, nested,
			"name it in .gitignore or .git/info/exclude, or make it a submodule with git submodule add"})
	}
	return errors.Join(errs...)
}

// unreadable finds the warnings about what git could not read and passed over.
func (c *checkout) unreadable(remarks []string) error {
	var paths []string
	for _, r := range remarks {
		for _, prefix := range []string{"warning: could not open directory '", "warning: unable to access '"} {
			rest, is := strings.CutPrefix(r, prefix)
			path, why, found := strings.Cut(rest, "': ")
			switch {
			case !is || !found:
			case strings.HasPrefix(path, "/"): // a file of the user's configuration
			case why == "Too many levels of symbolic links": // .gitignore is a link: git follows none
			default:
				paths = append(paths, path+" ("+why+")")
			}
		}
	}
	if paths == nil {
		return nil
	}
	slices.Sort(paths)
	return &PathsError{c.root, ErrUnreadable, slices.Compact(paths), "make it readable, or name it in .gitignore"}
}
