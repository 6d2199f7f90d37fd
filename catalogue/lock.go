package catalogue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/strictyaml"
)

const (
	// LockFileName is the path of the lock in a tree.
	LockFileName = "pharos.lock"
	// KindLock is the kind of the document that ParseLock reads.
	KindLock = "Lock"
)

// Lock says which images the references of a tree's recipes stand for: the
// document of a pharos.lock. It is committed, so that what a tag means is the
// same for everyone who has the tree. The zero Lock locks nothing.
type Lock struct {
	// Images holds the digest, "sha256:" and 64 lower-case hexadecimal digits,
	// for each reference that is not by digest itself, such as "alpine:3". A
	// reference stands for itself as it is written: "alpine:3" and
	// "docker.io/library/alpine:3" are two.
	Images map[string]string
}

// LoadLock reads the lock of a tree: it parses the tree's own pharos.lock, as
// ParseLock does. A tree that has none locks nothing. The error holds a
// *ProblemsError as that of ParseLock does, for a symbolic link too; it matches
// source.ErrNotFound if an object of the tree is missing.
func LoadLock(ctx context.Context, tree source.Tree) (Lock, error) {
	data, err := readRootFile(ctx, tree, LockFileName)
	switch {
	case errors.Is(err, errNoFile):
		return Lock{}, nil
	case errors.Is(err, errNotOrdinary):
		err = lockProblem(LockFileName, errNotOrdinary.Error())
		return Lock{}, fmt.Errorf("%w\n%s", err, mendLock)
	case err != nil:
		return Lock{}, err
	}
	lock, err := ParseLock(LockFileName, data)
	if err != nil {
		return Lock{}, fmt.Errorf("%w\n%s", err, mendLock)
	}
	return lock, nil
}

// ParseLock reads a pharos.lock. The name of the file is used for errors only.
// The file must have one document, of kind Lock. The error holds a
// *ProblemsError with all that is wrong.
func ParseLock(filename string, data []byte) (Lock, error) {
	docs, err := strictyaml.Parse(filename, data)
	if err != nil {
		return Lock{}, err
	}
	var lock Lock
	var errs []error
	for i, doc := range docs {
		root := doc.Root()
		if i == 0 {
			lock = parseLock(root)
		} else {
			root.Errorf("is a second document, and there can be only one")
		}
		errs = append(errs, doc.Err())
	}
	if len(docs) == 0 {
		errs = append(errs, lockProblem(filename, fmt.Sprintf("is empty, and needs a document with apiVersion %s and kind %s", APIVersion, KindLock)))
	}
	if err := strictyaml.Join(errs...); err != nil {
		return Lock{}, err
	}
	return lock, nil
}

// lockProblem is a problem of a whole file.
func lockProblem(filename, message string) error {
	return &ProblemsError{List: []*Problem{{File: filename, Message: message}}}
}

const (
	// runLock is the advice for a lock that lacks something or has too much.
	runLock = "run kubectl pharos lock and commit " + LockFileName
	// mendLock is the advice for a lock that cannot be read.
	mendLock = "Correct " + LockFileName + " by hand, or have it made anew: kubectl pharos lock --update"
)

func parseLock(root strictyaml.Node) Lock {
	doc := root.Map("apiVersion", "kind", "images")
	doc.Required("apiVersion").String(strictyaml.Equal(APIVersion))
	doc.Required("kind").String(strictyaml.Equal(KindLock))
	images := doc.Required("images").StringMap(checkLocked)
	if len(images) == 0 {
		images = nil
	}
	return Lock{Images: images}
}

// checkLocked accepts a reference and the digest that it stands for.
func checkLocked(name, digest string) error {
	switch parts := reference.FindStringSubmatch(name); {
	case parts == nil:
		return errors.New("is no reference of an image")
	case parts[1] != "":
		return errors.New("is by digest already: remove it")
	case name == Scratch:
		return errors.New("is no image: remove it")
	case !digestText.MatchString(digest):
		return fmt.Errorf("is %q, and must be \"sha256:\" and 64 lower-case hexadecimal digits", digest)
	}
	return nil
}

// lockHeader is the beginning of a pharos.lock.
const lockHeader = "# Written by kubectl pharos lock; commit it. It says which image each tag stands for.\n" +
	"apiVersion: " + APIVersion + "\n" +
	"kind: " + KindLock + "\n"

// Marshal returns the lock as it stands in a pharos.lock, sorted by reference,
// so that the same lock is always the same bytes. ParseLock of them gives the
// same lock. The error holds a *ProblemsError for what ParseLock would refuse.
func (l Lock) Marshal() ([]byte, error) {
	var b strings.Builder
	b.WriteString(lockHeader)
	if len(l.Images) == 0 {
		b.WriteString("images: {}\n")
	} else {
		b.WriteString("images:\n")
	}
	for _, name := range slices.Sorted(maps.Keys(l.Images)) {
		// In quotes whatever it is, since YAML takes 1.10 for a number.
		fmt.Fprintf(&b, "  %q: %q\n", name, l.Images[name])
	}
	data := []byte(b.String())
	if _, err := ParseLock(LockFileName, data); err != nil {
		return nil, err
	}
	return data, nil
}
