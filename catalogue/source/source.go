package source

import (
	"context"
	"errors"
	"io"
	"io/fs"
)

// ID is a Git object ID: 40 lower-case hexadecimal digits in a SHA-1
// repository, 64 in a SHA-256 one.
type ID string

// Mode is a tree entry's mode as Git writes it.
type Mode uint32

// The modes that Git writes.
const (
	ModeDir        Mode = 0o040000
	ModeFile       Mode = 0o100644
	ModeExecutable Mode = 0o100755
	ModeSymlink    Mode = 0o120000
	ModeSubmodule  Mode = 0o160000
)

// Entry is one line of a Git tree.
type Entry struct {
	Name string
	Mode Mode
	ID   ID
}

// Objects reads Git objects. Implementations are safe for concurrent use. An
// object that is not there is an error for which errors.Is(err, ErrNotFound).
type Objects interface {
	// Tree returns the entries of a tree object in Git's order. The caller
	// must not modify them. The same few trees are asked for again and again:
	// implementations keep those that they read last.
	Tree(ctx context.Context, id ID) ([]Entry, error)
	// Blob opens a blob object and says its size in bytes.
	Blob(ctx context.Context, id ID) (content io.ReadCloser, size int64, err error)
}

// Tree is a Git tree: the ID of its root and where its objects are read.
type Tree struct {
	ID      ID
	Objects Objects
}

// Commit is a Git commit.
type Commit struct {
	ID      ID
	Tree    Tree
	Parents []ID
	Subject string // the first line of its message
}

var (
	// ErrNotFound is returned when an object or a path does not exist. It
	// matches fs.ErrNotExist too.
	ErrNotFound error = notFound{}
	// ErrNoRepository is returned by Open when neither the folder nor one of
	// its parents is a Git repository.
	ErrNoRepository = errors.New("not a Git repository")
	// ErrUnborn is returned by Repository.Commit for HEAD of a repository
	// without commits.
	ErrUnborn = errors.New("the branch has no commit yet")
	// ErrUnknownRevision is returned by Repository.Commit for a revision that
	// names no commit.
	ErrUnknownRevision = errors.New("unknown revision")
)

type notFound struct{}

func (notFound) Error() string        { return "not found" }
func (notFound) Is(target error) bool { return target == fs.ErrNotExist }
