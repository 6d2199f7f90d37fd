package worktree

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// maxArgs is how many bytes of arguments are given to git: Windows takes 32 Ki.
const maxArgs = 16 << 10

// hash has git make objects of files, and returns what it made of them, nothing of
// one that has gone; or, if it says so, all that is not as in HEAD.
//
// For a few files git gets an index with only them in it: reading and writing a
// large one takes longer than all the rest. It gets the user's where the index
// says more: which names are taken to be the same, what is outside of a sparse
// checkout, and the attributes that are not in the working directory.
func (c *checkout) hash(ctx context.Context, store *store, work *scratch, st *status, base *baseTree, around *surroundings, edits []edit) (made map[string]state, all bool, err error) {
	var args []string
	size := 0
	whole := around.sparse
	for _, e := range edits {
		if e.index.mode != 0 {
			info := fmt.Sprintf("%o,%s,%s", e.index.mode, e.index.id, e.path)
			args = append(args, "--cacheinfo", info)
			size += len(info) + 16
		}
		indexed, err := around.indexed(ctx, e.path, base)
		if err != nil {
			return nil, false, err
		}
		whole = whole || indexed || e.untracked && around.foldsCase || size > maxArgs
	}
	if whole {
		made, err = c.hashAll(ctx, store, work, st, edits)
		return made, true, err
	}
	index := work.path("small")
	args = slices.Concat([]string{"update-index", "--add", "--remove", "--replace"}, args, []string{"-z", "--stdin"})
	_, remarks, err := c.write(ctx, store, work, index, names(edits), args...)
	if err != nil {
		return nil, false, err
	}
	if err := c.filterFailed(ctx, store, index, remarks, edits); err != nil {
		return nil, false, err
	}
	out, _, err := c.run(ctx, store.objects(), index, nil, "ls-files", "--stage", "-z")
	if err != nil {
		return nil, false, err
	}
	made, err = c.parseStaged(out, edits)
	return made, false, err
}

// write is run for what makes objects: they are in the store when all are made.
func (c *checkout) write(ctx context.Context, store *store, work *scratch, index string, stdin []byte, args ...string) (out []byte, remarks []string, err error) {
	objects, err := work.quarantine(store)
	if err != nil {
		return nil, nil, err
	}
	if out, remarks, err = c.run(ctx, objects, index, stdin, args...); err != nil {
		return nil, nil, err
	}
	return out, remarks, work.release(store)
}

// names are the paths of files, each with a NUL after it.
func names(edits []edit) []byte {
	var b bytes.Buffer
	for _, e := range edits {
		b.WriteString(e.path)
		b.WriteByte(0)
	}
	return b.Bytes()
}

// parseStaged reads git-ls-files(1): <mode> SP <id> SP <stage> TAB <path>.
func (c *checkout) parseStaged(out []byte, edits []edit) (map[string]state, error) {
	made := map[string]state{}
	for record := range strings.SplitSeq(string(out), "\x00") {
		if record == "" {
			continue
		}
		info, path, ok := strings.Cut(record, "\t")
		f := strings.Split(info, " ")
		if !ok || len(f) != 3 {
			return nil, fmt.Errorf("git ls-files printed %q, which is not its format", record)
		}
		made[path] = parseState(f[0], f[1])
	}
	return made, notNested(made, edits)
}

// hashAll has git look at all files once more, and returns all that is not as in
// HEAD.
func (c *checkout) hashAll(ctx context.Context, store *store, work *scratch, st *status, edits []edit) (map[string]state, error) {
	index := work.path("whole")
	if err := clone(work.path("index"), index); ignoreMissing(err) != nil {
		return nil, err
	}
	_, remarks, err := c.write(ctx, store, work, index, nil, "add", "--all")
	if err != nil {
		return nil, err
	}
	if err := c.filterFailed(ctx, store, index, remarks, edits); err != nil {
		return nil, err
	}
	if st.head == "" {
		out, _, err := c.run(ctx, store.objects(), index, nil, "ls-files", "--stage", "-z")
		if err != nil {
			return nil, err
		}
		return c.parseStaged(out, edits)
	}
	out, _, err := c.run(ctx, store.objects(), index, nil,
		"diff-index", "--cached", "--raw", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=none", string(st.head))
	if err != nil {
		return nil, err
	}
	made := map[string]state{}
	for _, e := range edits {
		if !e.untracked {
			made[e.path] = e.head // unless it is in what follows
		}
	}
	fields := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(fields); i += 2 { // :<mode> SP <mode> SP <id> SP <id> SP <status>, <path>
		f := strings.Split(fields[i], " ")
		if len(f) != 5 {
			return nil, fmt.Errorf("git diff-index printed %q, which is not its format", fields[i])
		}
		made[fields[i+1]] = newState(parseState(f[1], "").mode, f[3])
	}
	for _, e := range edits {
		if made[e.path] == e.index && !e.untracked {
			c.log.WarnContext(ctx, "git add leaves a file outside of the sparse checkout as it is in the index", "dir", c.root, "path", e.path)
		}
	}
	return made, notNested(made, edits)
}

// notNested holds what has become a repository against what was looked at.
func notNested(made map[string]state, edits []edit) error {
	for _, e := range edits {
		if made[e.path].mode == source.ModeSubmodule && e.onDisk != source.ModeSubmodule {
			return fmt.Errorf("%w: %s has become a repository", errMoved, e.path)
		}
	}
	return nil
}

// filterFailed finds the remarks about a filter that failed and need not have
// worked.
func (c *checkout) filterFailed(ctx context.Context, store *store, index string, remarks []string, edits []edit) error {
	i := slices.IndexFunc(remarks, func(r string) bool {
		return strings.HasPrefix(r, "error: ") && strings.Contains(r, "external filter")
	})
	if i < 0 {
		return nil
	}
	out, _, err := c.run(ctx, store.objects(), index, names(edits), "check-attr", "-z", "--stdin", "filter")
	if err != nil {
		return err
	}
	var paths []string
	fields := strings.Split(string(out), "\x00")
	for i := 0; i+2 < len(fields); i += 3 { // path, attribute, value
		if fields[i+2] != "unspecified" {
			paths = append(paths, fields[i])
		}
	}
	return &PathsError{c.root, ErrFilter, paths, "git says " + remarks[i]}
}
