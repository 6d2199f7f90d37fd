package portowner

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// listening is the state of a socket in /proc/net/tcp that accepts connections.
const listening = "0A"

// Of names the process that listens on a port, on any address, such as "node
// (process 4711)". It is "" where the system does not say: the process is another
// user's, or in another namespace.
func Of(_ context.Context, port uint16) string {
	sockets := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for _, inode := range inodes(table, port) {
			sockets["socket:["+inode+"]"] = true
		}
	}
	if len(sockets) == 0 {
		return ""
	}
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*") // of processes that may be looked into
	for _, file := range files {
		if target, err := os.Readlink(file); err != nil || !sockets[target] {
			continue
		}
		pid := strings.Split(file, "/")[2]
		name, err := os.ReadFile("/proc/" + pid + "/comm")
		if err != nil {
			continue
		}
		return fmt.Sprintf("%s (process %s)", clean(string(name)), pid)
	}
	return ""
}

// inodes are those of the sockets of a table that listen on a port. See
// https://docs.kernel.org/networking/proc_net_tcp.html.
func inodes(table string, port uint16) []string {
	f, err := os.Open(table)
	if err != nil {
		return nil
	}
	defer f.Close()
	var found []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 || fields[3] != listening {
			continue
		}
		_, number, _ := strings.Cut(fields[1], ":")
		if n, err := strconv.ParseUint(number, 16, 16); err == nil && uint16(n) == port {
			found = append(found, fields[9])
		}
	}
	return found
}
