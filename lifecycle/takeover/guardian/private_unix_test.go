//go:build unix

package guardian_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pharos-dev/pharos/internal/killtest"
)

// A folder that others may look into is closed to them, and what is in it is private.
func TestGuardianPrivate(t *testing.T) {
	t.Parallel()
	// Not in TMPDIR, which other users may not be let into.
	own, err := os.MkdirTemp("/var/tmp", "pharos-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(own) })
	folder := filepath.Join(own, "takeover")
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	r := role{Idle: true, Folder: folder}
	c, err := r.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(c.PID(), syscall.SIGKILL) }()
	for path, mode := range map[string]os.FileMode{"": 0o700, "guardian.sock": 0o600, "guardian.json": 0o600, "guardian.log": 0o600} {
		info, err := os.Stat(filepath.Join(folder, path))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%q is %v, %v", path, info.Mode(), err)
		}
	}
	if os.Getuid() != 0 {
		return // only root can be another user as well
	}
	// Another user gets nothing even where the modes would let them.
	var place struct{ Socket string }
	doc, err := os.ReadFile(filepath.Join(folder, "guardian.json"))
	if err != nil || json.Unmarshal(doc, &place) != nil {
		t.Fatal(err, string(doc))
	}
	for _, path := range []string{folder, own} {
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(place.Socket, 0o666); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(own, "ask")
	if err := copyProgram(program); err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[uint32]string{0: `"type":"status"`, 65534: ""} {
		cmd := killtest.Command(t, role{Ask: place.Socket})
		cmd.Path, cmd.Dir, cmd.SysProcAttr = program, "/", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := cmd.Output()
		if got := string(out); err != nil || (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("user %d is told %q, %v", uid, got, err)
		}
	}
}

// copyProgram copies this program to where every user may run it.
func copyProgram(to string) error {
	from, err := os.Executable()
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(to, data, 0o755), os.Chmod(to, 0o755))
}

// askStatus prints what a socket answers to whom this process is.
func (r role) askStatus() error {
	conn, err := net.Dial("unix", r.Ask)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, `{"version":1,"op":"status"}`+"\n")
	line, _ := bufio.NewReader(conn).ReadString('\n')
	fmt.Print(line)
	return nil
}
