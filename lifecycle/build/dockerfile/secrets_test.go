package dockerfile_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh/agent"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
)

const secretValue = "correct horse battery staple"

// supply is the secret "token", and no other.
func supply(_ context.Context, id string) ([]byte, error) {
	if id != "token" {
		return nil, dockerfile.ErrNotSupplied
	}
	return []byte(secretValue), nil
}

// A secret reaches the step that mounts it, and nothing else.
func TestSecrets(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(c *dockerfile.AddressConfig) { c.Secret = supply })
	base := f.host + "/base:1"
	p := project{
		recipe: "{secrets: [token]}",
		files: map[string]string{"Dockerfile": "FROM " + base + "\n" +
			"RUN --mount=type=secret,id=token wc -c </run/secrets/token >/length && cat /run/secrets/token && echo\n" +
			"RUN --mount=type=secret,target=/there/token,env=TOKEN printf %s \"$TOKEN\" | wc -c >>/length; echo $TOKEN\n"},
		lock: map[string]string{base: f.busybox(base)},
	}
	r := f.request(p)
	var out bytes.Buffer
	r.Output = &out
	res := f.build(r)
	if got := f.content(res)["length"]; got != "28\n28\n" {
		t.Errorf("the steps saw %q bytes", got)
	}
	if printed := out.String(); strings.Contains(printed, secretValue) || !strings.Contains(printed, "***\n") {
		t.Errorf("the secret was printed:\n%s", printed)
	}

	p.files = map[string]string{"Dockerfile": "FROM " + base + "\nRUN --mount=type=secret,id=token cat /run/secrets/token && false\n"}
	if failed := f.fail(f.request(p)); strings.Contains(failed.Error(), secretValue) || !strings.Contains(failed.Output, "***") {
		t.Errorf("got %v", failed)
	}
}

// What is not there is named before anything is built.
func TestSecretsThatAreNotSupplied(t *testing.T) {
	t.Parallel()
	f := &fixture{t: t, host: "registry.invalid", address: "unix:///nowhere/buildkitd.sock"}
	f.connect(func(c *dockerfile.AddressConfig) { c.Secret = supply })
	p := project{recipe: "{secrets: [npm, token, go], ssh: [default]}", files: map[string]string{"Dockerfile": "FROM scratch\nCOPY Dockerfile /\n"}}
	_, err := f.Build(t.Context(), f.request(p))
	lacking, ok := errors.AsType[*dockerfile.NotSuppliedError](err)
	if !ok || !slices.Equal(lacking.Secrets, []string{"go", "npm"}) || !slices.Equal(lacking.SSH, []string{"default"}) {
		t.Fatalf("got %v", err)
	}
	if want := "the secrets go, npm and the SSH agent default are declared and not supplied"; lacking.Error() != want {
		t.Errorf("got %q, want %q", lacking, want)
	}
	if errors.Is(err, lifecycle.ErrSource) {
		t.Error("the commit is blamed")
	}
}

func TestSecretsThatAreNotDeclared(t *testing.T) {
	t.Parallel()
	f := &fixture{t: t, host: "registry.invalid"}
	f.use(refusing{t})
	p := project{recipe: "{secrets: [token]}", files: map[string]string{"Dockerfile": "FROM scratch\n" +
		"RUN --mount=type=secret,id=token --mount=type=secret,id=npm,required=true --mount=type=ssh x\n" +
		"ARG ID=other\nRUN --mount=type=secret,target=/run/$ID --mount=type=ssh,id=work x\n"}}
	failed := f.fail(f.request(p))
	want := "Dockerfile:2: RUN mounts the secret npm, which the recipe does not declare: add it to build.dockerfile.secrets; " +
		"Dockerfile:4: RUN mounts the secret other, which the recipe does not declare: add it to build.dockerfile.secrets; " +
		"Dockerfile:2: RUN mounts the SSH agent default, which the recipe does not declare: add it to build.dockerfile.ssh; " +
		"Dockerfile:4: RUN mounts the SSH agent work, which the recipe does not declare: add it to build.dockerfile.ssh"
	if failed.Reason != want {
		t.Errorf("got  %s\nwant %s", failed.Reason, want)
	}
}

// The step reaches the agent: it sees its socket, and the agent is asked.
func TestSSH(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "agent.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	keyring := agent.NewKeyring()
	if err := keyring.Add(agent.AddedKey{PrivateKey: key, Comment: "work"}); err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				// It ends when the connection does.
				_ = agent.ServeAgent(keyring, conn)
			}()
		}
	}()
	f := newFixture(t, func(c *dockerfile.AddressConfig) { c.SSH = map[string]string{"work": socket} })
	ask := f.host + "/ask:1"
	p := project{
		recipe: "{ssh: [work]}",
		files:  map[string]string{"Dockerfile": "FROM " + ask + "\nRUN --mount=type=ssh,id=work [\"/ask\"]\n"},
		lock:   map[string]string{ask: f.push(ask, map[string]string{"ask": compile(t, askAgent)})},
	}
	if got := f.content(f.build(f.request(p)))["answer"]; !strings.Contains(got, "work") {
		t.Errorf("the agent answered %q", got)
	}
}

// askAgent asks the agent for its identities: a length of one and the byte 11 (draft-ietf-sshm-ssh-agent). The answer,
// after its length, holds their comments.
const askAgent = `package main

import (
	"encoding/binary"
	"io"
	"net"
	"os"
)

func main() {
	conn, err := net.Dial("unix", os.Getenv("SSH_AUTH_SOCK"))
	if err != nil {
		panic(err)
	}
	if _, err := conn.Write([]byte{0, 0, 0, 1, 11}); err != nil {
		panic(err)
	}
	var length uint32
	if err := binary.Read(conn, binary.BigEndian, &length); err != nil {
		panic(err)
	}
	answer := make([]byte, length)
	_, err = io.ReadFull(conn, answer)
	if err == nil {
		err = os.WriteFile("/answer", answer, 0o644)
	}
	if err != nil {
		panic(err)
	}
}
`

// compile returns a static program.
func compile(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "program"), filepath.Join(dir, "main.go"))
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program, err := os.ReadFile(filepath.Join(dir, "program"))
	if err != nil {
		t.Fatal(err)
	}
	return string(program)
}
