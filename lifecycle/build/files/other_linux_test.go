package files_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/exectest"
	"github.com/pharos-dev/pharos/lifecycle"
)

// TestMain lets this test binary be the other processes that tests need.
func TestMain(m *testing.M) {
	switch role := os.Getenv("PHAROS_TEST_ROLE"); role {
	case "":
		os.Exit(m.Run())
	default:
		if err := other(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// other builds the site of a repository in a process of its own, and says as whom
// and with which digest.
func other(role string) error {
	syscall.Umask(0o077)
	if role == "full" {
		// A write beyond that fails as on a full disk, and would end the process.
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 10, Max: 1 << 10}); err != nil {
			return err
		}
	}
	repo, err := source.Open(os.Getenv("PHAROS_TEST_REPOSITORY"))
	if err != nil {
		return err
	}
	ctx := context.Background()
	commit, err := repo.Commit(ctx, "HEAD")
	if err != nil {
		return err
	}
	b, err := newBuilder(os.Getenv("PHAROS_TEST_TEMP"))
	if err != nil {
		return err
	}
	res, err := b.Build(ctx, request(os.Getenv("PHAROS_TEST_REGISTRY"), commit.Tree, commit.Tree, recipe))
	if role == "full" {
		e, ok := errors.AsType[*lifecycle.Error](err)
		if !ok || e.Class != nil || !strings.Contains(e.Advice, "is full") || !errors.Is(err, syscall.EFBIG) {
			return fmt.Errorf("got %w, want a fault of the machine", err)
		}
		return nil
	}
	if err == nil {
		fmt.Println(os.Getuid(), res.Digest)
	}
	return err
}

var recipe = catalogue.FilesBuild{From: "site/public", Root: "/srv"}

func child(t *testing.T, role, host, temp, repo string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(append(os.Environ(), env...), "PHAROS_TEST_ROLE="+role, "PHAROS_TEST_REGISTRY="+host, "PHAROS_TEST_TEMP="+temp, "PHAROS_TEST_REPOSITORY="+repo)
	cmd.Stderr = t.Output()
	return cmd
}

// The same inputs have the same digest for another user, in another folder, with
// another umask, time zone and home, from other files in a checkout that have other
// times and modes, from a store of other form, and as a tree in memory.
func TestReproducible(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	want := f.build(f.request(site, recipe)).Digest

	repo := repository(t, site)
	temp := filepath.Join(t.TempDir(), "a", "rather", "longer", "path")
	if err := os.MkdirAll(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	// Packed objects, and files that a checkout may have but a commit has not.
	for _, args := range [][]string{
		{"git", "-C", repo, "gc", "-q"},
		{"find", filepath.Join(repo, "site"), "-type", "f", "-exec", "chmod", "0600", "{}", "+", "-exec", "touch", "-d", "2001-02-03", "{}", "+"},
		{"touch", filepath.Join(repo, "site", "public", "untracked")},
	} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	cmd := child(t, "build", f.host, temp, repo, "TZ=Asia/Kathmandu", "LC_ALL=C", "HOME="+t.TempDir())
	exectest.AsAnotherUser(cmd)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	uid := os.Getuid()
	if uid == 0 {
		uid = exectest.AnotherUser
	}
	if got := strings.TrimSpace(string(out)); got != fmt.Sprint(uid, " ", want) {
		t.Errorf("the digest was %s here; there user %s had it", want, got)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestDiskThatIsFull(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	repo := repository(t, with(site, map[string]source.File{"site/public/big": {Content: random(64 << 10)}}))
	cmd := child(t, "full", f.host, f.temp, repo)
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
	f.empty()
}

// random is text of that many bytes that does not compress.
func random(n int) string {
	var text strings.Builder
	state := uint32(1)
	for range n {
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		text.WriteByte(byte(state))
	}
	return text.String()
}
