package dockerfile_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// An image that does not fit into this machine's folder says so, and does not blame
// the machine that BuildKit runs on.
func TestRunnerWithoutRoom(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	text := "FROM scratch\nCOPY Dockerfile /\n"
	for i := range 1000 {
		text += fmt.Sprintf("# %x\n", sha256.Sum256(fmt.Append(nil, i)))
	}
	temp := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", "-rm", "sh", "-c", `mount -t tmpfs -o size=16k none "$PHAROS_TEST_TEMP" && exec "$1"`, "sh", os.Args[0])
	cmd.Env = append(os.Environ(), "PHAROS_TEST_ROLE=runner", "PHAROS_TEST_TEMP="+temp, "PHAROS_TEST_ADDRESS="+f.address,
		"PHAROS_TEST_REGISTRY="+f.host, "PHAROS_TEST_DOCKERFILE="+text, "PHAROS_TEST_DIGEST="+f.busybox(f.host+"/base:1"))
	var said bytes.Buffer
	cmd.Stderr = &said
	if _, failed := errors.AsType[*exec.ExitError](cmd.Run()); !failed {
		t.Fatalf("it was built: %s", said.String())
	}
	if got := said.String(); !strings.Contains(got, temp+" is full") || strings.Contains(got, "buildctl prune") {
		t.Errorf("got %s", got)
	}
}
