package bulk

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// Direct returns conn, read and written directly if it is a *net.TCPConn. All else of it is the same. In a program with the
// race detector it is conn itself.
func Direct(conn net.Conn) net.Conn {
	tcp, ok := conn.(*net.TCPConn)
	if !ok || watched {
		return conn
	}
	return newDirect(tcp)
}

func newDirect(tcp *net.TCPConn) net.Conn {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return tcp // it is closed, and says so when it is used
	}
	return &direct{tcp, raw}
}

type direct struct {
	*net.TCPConn
	raw syscall.RawConn
}

// Read implements net.Conn.
func (d *direct) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	var n uintptr
	var errno syscall.Errno
	err := d.raw.Read(func(fd uintptr) bool {
		for {
			n, _, errno = syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
			if errno != syscall.EINTR {
				return errno != syscall.EAGAIN
			}
		}
	})
	if err := d.failed("read", err, errno); err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, io.EOF
	}
	return int(n), nil
}

// Write implements net.Conn. It is one piece, also where others write.
func (d *direct) Write(p []byte) (int, error) {
	written := 0
	var errno syscall.Errno
	err := d.raw.Write(func(fd uintptr) bool {
		for written < len(p) {
			rest := p[written:]
			n, _, failed := syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(&rest[0])), uintptr(len(rest)))
			switch failed {
			case 0:
				written += int(n)
			case syscall.EINTR:
			case syscall.EAGAIN:
				return false
			default:
				errno = failed
				return true
			}
		}
		return true
	})
	return written, d.failed("write", err, errno)
}

// failed is the error of a call, nil if there is none.
func (d *direct) failed(name string, err error, errno syscall.Errno) error {
	switch {
	case err == nil && errno == 0:
		return nil
	case err == nil:
		err = os.NewSyscallError(name, errno)
	}
	if of, ok := err.(*net.OpError); ok {
		err = of.Err
	}
	return &net.OpError{Op: name, Net: "tcp", Source: d.LocalAddr(), Addr: d.RemoteAddr(), Err: err}
}
