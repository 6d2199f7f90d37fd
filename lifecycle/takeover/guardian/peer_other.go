//go:build !linux && !darwin

package guardian

import "net"

// userOf is not known.
func userOf(net.Conn) (uid int, known bool) { return 0, false }
