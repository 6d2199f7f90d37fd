package guardian

import (
	"net"

	"golang.org/x/sys/unix"
)

// userOf is whose process the other end of a socket is.
func userOf(conn net.Conn) (uid int, known bool) {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, false
	}
	var peer *unix.Xucred
	if cerr := raw.Control(func(fd uintptr) { peer, err = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED) }); cerr != nil || err != nil {
		return 0, false
	}
	return int(peer.Uid), true
}
