// Package fault tells whose fault an error is: of this machine, or of a
// connection. The types of errors do not: what a file system says of a file is a
// net.Error as well, since every syscall.Errno is one, and a request whose body
// could not be read from a file fails with a *url.Error.
package fault

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"net/url"
	"slices"
	"syscall"
)

// machine are the errors of a system that has no more of something, or whose
// disk fails.
var machine = []error{
	syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EIO, syscall.EROFS, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM,
}

// OfMachine reports whether an error is this machine's: of one of its files, or
// that it has no more memory, space or open files. It may have met a request to a
// server, whose fault it is not.
func OfMachine(err error) bool {
	_, file := errors.AsType[*fs.PathError](err)
	return file || OfSystem(err)
}

// OfSystem is OfMachine without the files that are not there, closed, or of names
// that cannot be: whoever writes what somebody else named has to ask for those.
func OfSystem(err error) bool {
	return slices.ContainsFunc(machine, func(m error) bool { return errors.Is(err, m) })
}

// OfConnection reports whether an error came with a connection, or with waiting
// for one, and is not this machine's.
func OfConnection(err error) bool {
	if OfMachine(err) {
		return false
	}
	if request, ok := errors.AsType[*url.Error](err); ok {
		return request.Op != "parse"
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return true
	}
	network, ok := errors.AsType[net.Error](err)
	_, system := network.(syscall.Errno)
	return ok && !system || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
