package guardian

import (
	"fmt"
	"net"
	"os"
)

// permit refuses a client that is another user's, whatever the modes of the socket and
// its folder are. Where the system does not say whose it is, those have to do.
func permit(conn net.Conn) error {
	uid, known := userOf(conn)
	if !known || uid == 0 || uid == os.Getuid() {
		return nil
	}
	return fmt.Errorf("it is a process of user %d, and this is one of user %d", uid, os.Getuid())
}
