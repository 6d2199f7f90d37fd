//go:build !linux

package bulk

import "net"

// Direct returns conn: only Linux promises what its calls are.
func Direct(conn net.Conn) net.Conn { return conn }
