package state_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api/v1"

	"github.com/pharos-dev/pharos/internal/devcluster/internal/state"
)

// holdVariable makes this test program hold the folder that it names until it is killed.
const holdVariable = "STATE_TEST_HOLD"

func TestMain(m *testing.M) {
	path := os.Getenv(holdVariable)
	if path == "" {
		os.Exit(m.Run())
	}
	if _, err := state.Hold(path); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("held")
	select {}
}

func hold(t *testing.T, path string) *state.Folder {
	t.Helper()
	f, err := state.Hold(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// holdElsewhere has another process hold the folder, and returns a function that kills it.
func holdElsewhere(t *testing.T, path string) (kill func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), holdVariable+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "held" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	return func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		// It was killed: there is nothing else to learn from its end.
		_ = cmd.Wait()
	}
}

func TestFolderHasOneHolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a", "state")
	kill := holdElsewhere(t, path)
	if _, err := state.Hold(path); !errors.Is(err, state.ErrInUse) {
		t.Errorf("while another process holds it: got %v, want ErrInUse", err)
	}
	kill()
	f := hold(t, path)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info.Mode(), err)
	}
	if err := f.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Remove: %v", err)
	}
	if err := hold(t, path).Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("after Release: %v", err)
	}
}

func TestSweepRemovesWhatIsAbandoned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	abandoned, used := filepath.Join(dir, "p-abandoned"), filepath.Join(dir, "p-used")
	kill := holdElsewhere(t, abandoned)
	if err := os.MkdirAll(filepath.Join(abandoned, "etcd", "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	kill()
	t.Cleanup(holdElsewhere(t, used))
	owned, owner := ownedFolder(t, dir, "p-owned")
	defer owner.Close()
	disowned, gone := ownedFolder(t, dir, "p-disowned")
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	kept := []string{used, owned, filepath.Join(dir, "other"), filepath.Join(dir, "p-without-a-lock"), filepath.Join(dir, "p-file")}
	for _, path := range []string{filepath.Join(dir, "other", "x"), filepath.Join(dir, "p-without-a-lock", "x"), filepath.Join(dir, "p-empty")} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "p-file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	removed, err := state.Sweep(dir, "p-")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{abandoned, disowned, filepath.Join(dir, "p-empty")}; fmt.Sprint(removed) != fmt.Sprint(want) {
		t.Errorf("removed %v, want %v", removed, want)
	}
	for _, path := range removed {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
	for _, path := range kept {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s should be kept: %v", path, err)
		}
	}
	if _, err := state.Sweep(filepath.Join(dir, "missing"), "p-"); err == nil {
		t.Error("a folder that is not there: no error")
	}
}

// ownedFolder makes a folder whose process is gone and whose owner is there until the file is closed.
func ownedFolder(t *testing.T, dir, name string) (string, *os.File) {
	t.Helper()
	path := filepath.Join(dir, name)
	holdElsewhere(t, path)()
	owner, err := os.Create(filepath.Join(path, "owner"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(owner.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	return path, owner
}

func TestPortStays(t *testing.T) {
	t.Parallel()
	f := hold(t, t.TempDir())
	l, err := f.Listen()
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if port := l.Addr().(*net.TCPAddr).Port; port < 20000 || port > 29999 {
		t.Errorf("port %d is in the range of outgoing connections", port)
	}
	// Taken: an error, not another port.
	if _, err := f.Listen(); err == nil || !strings.Contains(err.Error(), "this cluster's port again") {
		t.Errorf("while the port is taken: got %v", err)
	}
	// A process that another test is just starting holds the port until it runs.
	syscall.ForkLock.RLock()
	err = l.Close()
	if err == nil {
		l, err = f.Listen()
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := l.Addr().String(); got != address {
		t.Errorf("the second time it listens on %s, want %s", got, address)
	}
}

func TestBrokenPortFile(t *testing.T) {
	t.Parallel()
	f := hold(t, t.TempDir())
	if err := os.WriteFile(f.Path("port"), []byte("many"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Listen(); err == nil || !strings.Contains(err.Error(), f.Path("port")) {
		t.Errorf("got %v, want the file's name", err)
	}
}

func TestKeysWorkAndStay(t *testing.T) {
	t.Parallel()
	f := hold(t, t.TempDir())
	keys, err := f.Keys()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(keys.ServerCert, keys.ServerKey)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(keys.CAData) {
		t.Fatal("no certificate authority")
	}
	for _, name := range []string{"127.0.0.1", "localhost", "kubernetes.default.svc"} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); err != nil {
			t.Errorf("as %s: %v", name, err)
		}
	}
	for _, path := range []string{keys.CA, keys.ServerCert, keys.ServerKey, keys.ServiceAccountKey} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %o, want 600", path, info.Mode().Perm())
		}
	}
	again, err := f.Keys()
	if err != nil {
		t.Fatal(err)
	}
	if string(again.CAData) != string(keys.CAData) {
		t.Error("the second time the authority is another one")
	}
	if _, err := tls.LoadX509KeyPair(again.ServerCert, again.ServerKey); err != nil {
		t.Error(err)
	}
}

func TestKubeconfigsCarryTheTokens(t *testing.T) {
	t.Parallel()
	f := hold(t, t.TempDir())
	tokenFile, err := f.TokenFile()
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := os.ReadFile(tokenFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Kubeconfigs("https://127.0.0.1:20000", []byte("authority")); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, u := range state.Users {
		b, err := os.ReadFile(f.Path(u.File))
		if err != nil {
			t.Fatal(err)
		}
		var k clientcmdapi.Config
		if err := json.Unmarshal(b, &k); err != nil {
			t.Fatal(err)
		}
		if k.CurrentContext != state.ContextName || len(k.AuthInfos) != 1 || len(k.Clusters) != 1 || k.Clusters[0].Cluster.Server != "https://127.0.0.1:20000" {
			t.Fatalf("%s: %s", u.File, b)
		}
		token := k.AuthInfos[0].AuthInfo.Token
		if seen[token] || !strings.Contains(string(tokens), token+","+u.Name+","+u.Name+",system:masters\n") {
			t.Errorf("the token of %s is not its own one of the token file", u.Name)
		}
		seen[token] = true
	}
	if again, err := os.ReadFile(tokenFile); err != nil || string(again) != string(tokens) {
		t.Errorf("the tokens have changed: %v", err)
	}
}
