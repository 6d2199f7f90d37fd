package forward

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// owner names the process that listens on a port, where this user may see it: "process 123 (postgres)".
func owner(port uint16) string {
	listening := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for _, inode := range listeners(table, port) {
			listening["socket:["+inode+"]"] = true
		}
	}
	// A process that is just ending, or another user's, is left out.
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil || !listening[target] {
			continue
		}
		process := filepath.Dir(filepath.Dir(link))
		name, _ := os.ReadFile(filepath.Join(process, "comm"))
		return fmt.Sprintf("process %s (%s)", filepath.Base(process), strings.TrimSpace(string(name)))
	}
	return ""
}

// listeners returns the inodes of the sockets in one of the kernel's tables that listen on a port.
func listeners(table string, port uint16) []string {
	f, err := os.Open(table)
	if err != nil {
		return nil
	}
	defer f.Close()
	var inodes []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		const local, state, inode, listen = 1, 3, 9, "0A"
		if len(fields) <= inode || fields[state] != listen {
			continue
		}
		_, hex, _ := strings.Cut(fields[local], ":")
		if n, err := strconv.ParseUint(hex, 16, 16); err == nil && uint16(n) == port {
			inodes = append(inodes, fields[inode])
		}
	}
	return inodes
}
