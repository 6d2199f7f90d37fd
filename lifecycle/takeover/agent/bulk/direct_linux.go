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
	n, err := d.call("read", syscall.SYS_READ, d.raw.Read, p)
	if err == nil && n == 0 {
		return 0, io.EOF
	}
	return n, err
}

// Write implements net.Conn.
func (d *direct) Write(p []byte) (int, error) {
	written := 0
	for written < len(p) {
		n, err := d.call("write", syscall.SYS_WRITE, d.raw.Write, p[written:])
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// call makes a call with p, which is not empty, when the socket is ready for it.
func (d *direct) call(name string, trap uintptr, ready func(func(fd uintptr) bool) error, p []byte) (int, error) {
	var n uintptr
	var errno syscall.Errno
	err := ready(func(fd uintptr) bool {
		for {
			n, _, errno = syscall.RawSyscall(trap, fd, uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
			if errno != syscall.EINTR {
				return errno != syscall.EAGAIN
			}
		}
	})
	if err == nil && errno != 0 {
		err = os.NewSyscallError(name, errno)
	}
	if err == nil {
		return int(n), nil
	}
	if of, ok := err.(*net.OpError); ok {
		err = of.Err
	}
	return 0, &net.OpError{Op: name, Net: "tcp", Source: d.LocalAddr(), Addr: d.RemoteAddr(), Err: err}
}
