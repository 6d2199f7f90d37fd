package environment

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// keeperBase tells the test's own program to make a folder with a secret there, and
// to keep it until it is killed.
const keeperBase = "PHAROS_TEST_KEEPER_BASE"

func TestMain(m *testing.M) {
	if base := os.Getenv(keeperBase); base != "" {
		fmt.Fprintln(os.Stderr, keep(base))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func keep(base string) error {
	f, err := NewFolder(base)
	if err != nil {
		return err
	}
	e := Environment{Files: []File{{Path: "/etc/secret", Mode: 0o600, data: hide(canary)}}}
	if err := f.Write(context.Background(), nil, e, nil); err != nil {
		return err
	}
	fmt.Println(f.Path())
	select {}
}

// What a process that was killed has left is found and wiped; what one that runs has
// is not.
func TestRecover(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	mine, err := NewFolder(base)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), keeperBase+"="+base)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	left := strings.TrimSpace(line)
	if err != nil || filepath.Dir(left) != base {
		t.Fatal(line, err)
	}
	if wiped, err := Recover(base); len(wiped) > 0 || err != nil {
		t.Errorf("wiped %v while it runs, %v", wiped, err)
	}
	if text, err := os.ReadFile(filepath.Join(left, "etc/secret")); string(text) != canary || err != nil {
		t.Fatalf("read %q, %v", text, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed

	// What others have put there is left alone, and so is what only looks like one.
	foreign := []string{"other", "pharos-takeover-0123-x", fmt.Sprintf("pharos-takeover-%d-link", os.Getuid())}
	for _, name := range foreign[:2] {
		if err := os.Mkdir(filepath.Join(base, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("other", filepath.Join(base, foreign[2])); err != nil {
		t.Fatal(err)
	}
	wiped, err := Recover("", base, filepath.Join(base, "none"))
	if err != nil || len(wiped) != 1 || wiped[0] != left {
		t.Errorf("wiped %v, %v", wiped, err)
	}
	if wiped, err := Recover(base); len(wiped) > 0 || err != nil {
		t.Errorf("wiped %v the second time, %v", wiped, err)
	}
	if err := mine.Wipe(); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(base)
	if err != nil || len(entries) != len(foreign) {
		t.Errorf("left are %v, %v", entries, err)
	}
}

// Folders that are made while others are looked for are not lost.
func TestRecoverBesideNewFolders(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := Recover(base); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 200 {
		f, err := NewFolder(base)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.put("/a", "b", 0o600); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(f.Path(), "a")); err != nil {
			t.Error(err)
		}
		if err := f.Wipe(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
	if entries, err := os.ReadDir(base); len(entries) > 0 || err != nil {
		t.Errorf("left are %v, %v", entries, err)
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	if _, err := NewFolder("", filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a folder is made nowhere")
	}
	base := t.TempDir()
	f, err := NewFolder("", base)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(f.Path())
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if err := f.put("/a/b/../../../c", "d", 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(f.Path(), "c")); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := f.Wipe(); err != nil {
			t.Error(err)
		}
	}
	if entries, err := os.ReadDir(base); len(entries) > 0 || err != nil {
		t.Errorf("left are %v, %v", entries, err)
	}
	if err := f.put("/a", "b", 0o600); !errors.Is(err, errWiped) {
		t.Errorf("after it was wiped: %v", err)
	}
}

// What is on a disk is overwritten before it is removed: another name of the same
// file shows it.
func TestWipeOverwrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inside, other := filepath.Join(dir, "in"), filepath.Join(dir, "other")
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(inside, "a"), []byte(canary), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(inside, "a"), other); err != nil {
		t.Fatal(err)
	}
	if err := wipe(inside, false); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(other)
	if err != nil || string(text) != strings.Repeat("\x00", len(canary)) {
		t.Errorf("read %q, %v", text, err)
	}
}

// A folder in memory is preferred, where the machine has a place for one.
func TestNewFolderPrefersMemory(t *testing.T) {
	t.Parallel()
	const shared = "/dev/shm"
	if runtime.GOOS != "linux" || !inMemory(shared) {
		if inMemory(t.TempDir()) && runtime.GOOS != "linux" {
			t.Error("a folder is said to be in memory")
		}
		return
	}
	disk := "/proc" // never in memory by this measure, and nothing can be made there
	f, err := NewFolder(disk, shared)
	if err != nil {
		t.Fatal(err)
	}
	if !f.InMemory() || filepath.Dir(f.Path()) != shared {
		t.Errorf("it is %s, in memory %t", f.Path(), f.InMemory())
	}
	if err := f.Wipe(); err != nil {
		t.Error(err)
	}
}

// Tokens are renewed in time, and again after what went wrong; each is told before it
// is written.
func TestRenew(t *testing.T) {
	t.Parallel()
	folder := newTestFolder(t)
	synctest.Test(t, func(t *testing.T) {
		r := &memoryReader{lifetime: time.Hour}
		e := Environment{tokens: []tokenFile{{path: "/token", namespace: "shop", serviceAccount: "api"}}}
		var mu sync.Mutex
		var secrets []string
		var failures []error
		secret := func(s string) {
			mu.Lock()
			defer mu.Unlock()
			secrets = append(secrets, s)
		}
		failed := func(err error) {
			mu.Lock()
			defer mu.Unlock()
			failures = append(failures, err)
		}
		if err := folder.Write(t.Context(), r, e, secret); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- folder.Renew(ctx, r, e, secret, failed) }()
		at := func(d time.Duration, tokens, failed int) {
			t.Helper()
			<-time.After(d) // by the clock of the bubble
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			text, err := os.ReadFile(filepath.Join(folder.Path(), "token"))
			if err != nil || string(text) != fmt.Sprintf("token-%d-of-api", tokens) || len(secrets) != tokens || len(failures) != failed {
				t.Errorf("%d tokens and %v, of which %q is there, %v; want %d and %d", len(secrets), failures, text, err, tokens, failed)
			}
		}
		at(7*time.Minute+50*time.Second, 1, 0)
		at(20*time.Second, 2, 0)
		r.mu.Lock()
		r.forbidden = map[string]bool{`token/shop/api for ""`: true}
		r.mu.Unlock()
		at(8*time.Minute+12*time.Second, 2, 5)
		r.mu.Lock()
		r.forbidden = nil
		r.mu.Unlock()
		at(5*time.Second, 3, 5)
		mu.Lock()
		if !strings.Contains(failures[0].Error(), "get a token of service account shop/api: ") || strings.Contains(failures[0].Error(), "token-") {
			t.Error(failures[0])
		}
		mu.Unlock()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		go func() { done <- folder.Renew(t.Context(), r, e, nil, nil) }()
		if err := folder.Wipe(); err != nil {
			t.Fatal(err)
		}
		<-time.After(10 * time.Minute) // by the clock of the bubble
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
