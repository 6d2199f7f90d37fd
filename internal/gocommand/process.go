package gocommand

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"time"

	"github.com/pharos-dev/pharos/internal/processgroup"
)

// Process is a run of the go command at path, in a folder. The caller sets its
// outputs, and has processgroup.Run run it: it ends, with all that it started, when
// ctx does.
func Process(ctx context.Context, path, dir string, env Environment, args ...string) *exec.Cmd {
	env = maps.Clone(env)
	env.Set("PWD", dir)
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env = dir, env.List()
	cmd.WaitDelay = 5 * time.Second // for the last of its output, which a child may hold open
	return cmd
}

// userSettings are what a user may have set with "go env -w" and the command
// cannot go without. The rest of that file is not read: it has a say in what
// results.
var userSettings = []string{
	"GOPROXY", "GOPRIVATE", "GONOPROXY", "GOSUMDB", "GONOSUMDB", "GOINSECURE", "GOAUTH", "GOVCS",
	"GOPATH", "GOMODCACHE", "GOCACHE", "GOCACHEPROG",
}

// Ask asks the go command at path for its version, such as "go1.26.8" or
// "go1.26.8 X:jsonv2", and for what the user's configuration says of modules and
// caches. It runs in a folder that no go.mod governs but its own, with the
// toolchain that a GOTOOLCHAIN names, which may have to be downloaded. What it
// prints on its standard error is written to errOut.
func Ask(ctx context.Context, path, dir string, env Environment, toolchain string, errOut io.Writer) (version string, user map[string]string, err error) {
	file, named := env["GOENV"] // where "go env -w" wrote
	env = env.User()
	if named {
		env.Set("GOENV", file)
	}
	env.SetAll("GOTOOLCHAIN="+toolchain, "GOWORK=off", "GO111MODULE=on")
	cmd := Process(ctx, path, dir, env, append([]string{"env", "-json", "GOVERSION"}, userSettings...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, errOut
	if err := processgroup.Run(cmd); err != nil {
		return "", nil, err
	}
	if err := json.Unmarshal(out.Bytes(), &user); err != nil {
		return "", nil, fmt.Errorf("read the answer of go env: %w", err)
	}
	version = user["GOVERSION"]
	delete(user, "GOVERSION")
	maps.DeleteFunc(user, func(_, value string) bool { return value == "" })
	return version, user, nil
}
