package devenv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

var buildKitNeeds = []need{
	{program: "runc", paths: in(systemPath, "runc"), debian: "runc"},
	{program: "busybox", paths: in(systemPath, "busybox"), debian: "busybox-static"},
	{program: "unshare", paths: in(systemPath, "unshare"), debian: "util-linux"},
	{program: "setpriv", paths: in(systemPath, "setpriv"), debian: "util-linux"},
}

// BuildKitAvailable returns nil where [StartBuildKit] can work, and otherwise a *[BuildKitUnavailableError].
func BuildKitAvailable() error {
	var reasons []string
	if os.Geteuid() != 0 {
		reasons = append(reasons, "it needs root")
	}
	for _, n := range buildKitNeeds {
		if _, ok := n.find(); !ok {
			reasons = append(reasons, n.program+" is not installed (Debian package "+n.debian+")")
		}
	}
	if len(reasons) > 0 {
		return &BuildKitUnavailableError{Reasons: reasons}
	}
	return nil
}

// keeper runs buildkitd until its own input ends, which it does when this process dies in whatever way: then it removes
// what is left. Killed itself, it takes buildkitd with it.
const keeper = `
trap '' INT TERM HUP
dir=$1; shift
exec 3<&0
setpriv --pdeathsig KILL -- "$@" </dev/null 3<&- &
child=$!
exec >/dev/null 2>&1 # nobody may read any more
{ read -r _ <&3; : >"$dir/end"; kill -KILL $child; } &
wait $child
test -e "$dir/end" || exit 1
rm -rf "$dir"
for group in /sys/fs/cgroup/"${dir##*/}" /sys/fs/cgroup/*/"${dir##*/}"; do
	# What was killed may take a moment to leave it.
	tries=500
	while test -d "$group" && test $tries -gt 0; do
		find "$group" -depth -type d -exec rmdir {} + && break
		tries=$((tries - 1))
		sleep 0.02
	done
done
`

// command runs buildkitd as the first process of a process namespace: when it ends, the kernel ends all others in it. Its
// mounts are seen by nobody else and end with it.
func (b *BuildKit) command() *exec.Cmd {
	args := []string{"-c", keeper, "sh", b.dir, "unshare", "--pid", "--mount", "--mount-proc", "--fork", "--kill-child=KILL"}
	if b.options.NoNetwork {
		args = append(args, "--net")
	}
	script := `exec "$@"`
	if b.options.Size > 0 {
		script = fmt.Sprintf(`mount -t tmpfs -o size=%dm tmpfs %s && exec "$@"`, b.options.Size, b.path("root"))
	}
	args = append(args, "--", "/bin/sh", "-c", script, "sh", b.daemon, "--config="+b.path("buildkitd.toml"), "--addr="+b.Address())
	cmd := exec.Command("/bin/sh", append(args, b.options.Args...)...)
	cmd.Env = append(os.Environ(), "PATH="+strings.Join(systemPath, ":"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// What it started may hold its output open for a moment.
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// killAll ends a process and all of its group.
func killAll(process *os.Process) {
	// It fails only if they have ended already.
	_ = syscall.Kill(-process.Pid, syscall.SIGKILL)
}

// removeBuildKit removes what a buildkitd that has ended left in a folder, and its control groups.
func removeBuildKit(dir string) error {
	var errs []error
	// Version 2 has one hierarchy, version 1 one for each controller.
	for _, pattern := range []string{"/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
		groups, err := filepath.Glob(pattern + filepath.Base(dir))
		errs = append(errs, err)
		for _, group := range groups {
			errs = append(errs, removeGroup(group))
		}
	}
	return errors.Join(append(errs, os.RemoveAll(dir))...)
}

// removeGroup removes a control group and those in it, the innermost first. A process that was killed may take a moment
// to leave it.
func removeGroup(group string) error {
	var all []string
	err := filepath.WalkDir(group, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && d.IsDir() {
			all = append(all, path)
		}
		return err
	})
	for i := len(all) - 1; i >= 0 && err == nil; i-- {
		for range 100 {
			if err = syscall.Rmdir(all[i]); !errors.Is(err, syscall.EBUSY) {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return err
}

// Runs reports whether a step of a build runs whose command line holds the text, words separated by spaces.
func (b *BuildKit) Runs(text string) bool {
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return false
	}
	for _, process := range processes {
		group, err := os.ReadFile(filepath.Join(process, "cgroup"))
		if err != nil || !strings.Contains(string(group), filepath.Base(b.dir)) {
			continue
		}
		line, err := os.ReadFile(filepath.Join(process, "cmdline"))
		if err == nil && strings.Contains(strings.ReplaceAll(string(line), "\x00", " "), text) {
			return true
		}
	}
	return false
}
