package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/receipt"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){program: main})
}

// update has the scripts take what the program says for what it should say.
var update = os.Getenv("PHAROS_UPDATE_SCRIPTS") != ""

const program = "kubectl-pharos"

// TestOffline runs the scripts that need no cluster.
func TestOffline(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: "testdata/offline", Setup: setup, Cmds: commands, RequireUniqueNames: true, RequireExplicitExec: true, UpdateScripts: update})
}

// TestCluster runs the scripts that have a namespace NS on a cluster, and a
// registry REGISTRY, to themselves.
func TestCluster(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: "testdata/cluster", Setup: setupCluster, Cmds: commands, RequireUniqueNames: true, RequireExplicitExec: true, UpdateScripts: update})
}

// setup gives a script the Go caches and a Git identity, and nothing else of
// this machine's user.
func setup(e *testscript.Env) error {
	goEnv, err := exec.Command("go", "env", "-json", "GOCACHE", "GOMODCACHE", "GOROOT").Output()
	if err != nil {
		return err
	}
	vars := map[string]string{}
	if err := json.Unmarshal(goEnv, &vars); err != nil {
		return err
	}
	home := e.T().(testing.TB).TempDir()
	maps.Copy(vars, map[string]string{
		"HOME": home, "TMPDIR": home, "KUBECONFIG": filepath.Join(home, "kubeconfig"),
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "Shop", "GIT_AUTHOR_EMAIL": "shop@example.com", "GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z",
		"GIT_COMMITTER_NAME": "Shop", "GIT_COMMITTER_EMAIL": "shop@example.com", "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z",
		"NS": "shop", "REGISTRY": "127.0.0.1:1", // nothing listens on the first port
	})
	for name, value := range vars {
		e.Setenv(name, value)
	}
	return nil
}

func setupCluster(e *testscript.Env) error {
	t := e.T().(testing.TB)
	if err := setup(e); err != nil {
		return err
	}
	e.Values[testingTB{}] = t
	c := devtest.Cluster(t)
	e.Setenv("NS", devtest.Namespace(t, c))
	e.Setenv("REGISTRY", devtest.Registry(t))
	e.Setenv("KUBECONFIG", devtest.Kubeconfig(t, c.Config()))
	return nil
}

var commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"pharos":     pharos,
	"object":     isObject,
	"ended":      ended,
	"commit":     commit,
	"create":     create,
	"edit":       edit,
	"park":       park,
	"delete":     deleteMap,
	"expand":     expand,
	"show":       show,
	"why":        why,
	"release":    release,
	"refused":    refused,
	"remove":     remove,
	"damage":     damage,
	"pointers":   pointers,
	"differs":    differs,
	"lose":       lose,
	"prepared":   prepared,
	"restricted": restricted(devtest.Rights{}),
	"reader": restricted(devtest.Rights{
		Namespaced: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list"}},
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get"}},
		},
		ClusterWide: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}}},
	}),
}

// pharos CODE ARGS… runs the plugin, which must exit with the code. Whatever it
// says, it says without logs of the client libraries, and not twice.
func pharos(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: pharos CODE ARGS…")
	}
	code := 0
	err := ts.Exec(program, args[1:]...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if want, err := strconv.Atoi(args[0]); err != nil || code != want {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
	lines := strings.Split(strings.TrimSpace(ts.ReadFile("stderr")), "\n")
	for i, line := range lines {
		if slices.Contains(lines[:i], line) && strings.TrimSpace(line) != "" {
			ts.Fatalf("stderr says twice: %s", line)
		}
		if len(line) > 1 && strings.Contains("IWEF", line[:1]) && line[1] >= '0' && line[1] <= '9' {
			ts.Fatalf("stderr has a log line: %s", line)
		}
	}
	if said := strings.Contains("\n"+ts.ReadFile("stderr"), "\nerror: "); code != exitNotSo && said != (code != 0) {
		ts.Fatalf("exit code %d, and stderr is\n%s", code, ts.ReadFile("stderr"))
	}
}

// ended CODE ARGS… runs the plugin, which must exit with a code that is not its own.
func ended(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(program, args[1:]...)
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || strconv.Itoa(exit.ExitCode()) != args[0] {
		ts.Fatalf("it ended with %v, want %s", err, args[0])
	}
}

// object KIND wants one JSON object of that kind on stdout, and nothing else.
func isObject(ts *testscript.TestScript, _ bool, args []string) {
	var o struct{ APIVersion, Kind string }
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &o); err != nil {
		ts.Fatalf("stdout: %v", err)
	}
	if o.APIVersion != apiVersion || o.Kind != args[0] {
		ts.Fatalf("apiVersion is %q and kind %q, want %q and %q", o.APIVersion, o.Kind, apiVersion, args[0])
	}
}

// commit MESSAGE commits all of the current folder.
func commit(ts *testscript.TestScript, _ bool, args []string) {
	for _, git := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", args[0]}} {
		ts.Check(ts.Exec("git", git...))
	}
}

// expand FILE… replaces $NAME in files with the script's variables.
func expand(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		name = ts.MkAbs(name)
		data := os.Expand(ts.ReadFile(name), ts.Getenv)
		ts.Check(os.WriteFile(name, []byte(data), 0o644))
	}
}

// show FILE N shows the receipt whose ID the file holds by its first N digits.
func show(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	pharos(ts, false, []string{"0", "receipts", "show", strings.TrimPrefix(ts.ReadFile(args[0]), "sha256:")[:n]})
}

// release FILE releases the lease of the holder whose ID the file holds.
func release(ts *testscript.TestScript, _ bool, args []string) {
	pharos(ts, false, []string{"0", "lease", "release", "--holder", ts.ReadFile(args[0])})
}

// remove CODE FILE ARGS… deletes the image whose digest the file holds, which must
// exit with the code.
func remove(ts *testscript.TestScript, _ bool, args []string) {
	pharos(ts, false, append([]string{args[0], "images", "delete", ts.ReadFile(args[1])}, args[2:]...))
}

// damage deletes the receipt whose name, as of -o name, is on stdout.
func damage(ts *testscript.TestScript, _ bool, _ []string) {
	t := ts.Value(testingTB{}).(testing.TB)
	ns := ts.Getenv("NS")
	_, hex, _ := strings.Cut(strings.TrimSpace(ts.ReadFile("stdout")), "/")
	maps := devtest.Client(t, devtest.Cluster(t).Config()).CoreV1().ConfigMaps(ns)
	ts.Check(maps.Delete(t.Context(), "pharos-"+ns+"."+hex, metav1.DeleteOptions{}))
}

// pointers PATCH changes the pointers by a merge patch, and pointers gone deletes
// them.
func pointers(ts *testscript.TestScript, _ bool, args []string) {
	t := ts.Value(testingTB{}).(testing.TB)
	ns := ts.Getenv("NS")
	maps := devtest.Client(t, devtest.Cluster(t).Config()).CoreV1().ConfigMaps(ns)
	if args[0] == "gone" {
		ts.Check(maps.Delete(t.Context(), "pharos-"+ns, metav1.DeleteOptions{}))
		return
	}
	_, err := maps.Patch(t.Context(), "pharos-"+ns, types.MergePatchType, []byte(args[0]), metav1.PatchOptions{})
	ts.Check(err)
}

// prepared records that the target NS is prepared.
func prepared(ts *testscript.TestScript, _ bool, _ []string) {
	t := ts.Value(testingTB{}).(testing.TB)
	prepareTarget(t, devtest.Cluster(t).Config(), ts.Getenv("NS"))
}

// prepareTarget records that the target with a namespace's name is prepared in it.
func prepareTarget(t testing.TB, config *rest.Config, ns string) {
	t.Helper()
	cluster, err := standard.NewCluster(config, ns)
	if err != nil {
		t.Fatal(err)
	}
	uid, err := cluster.UID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store, err := standard.NewCheckpoints(config, ns, ns)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.SetCheckpoint(t.Context(), lifecycle.Checkpoint{}, lifecycle.Checkpoint{
		APIVersion: lifecycle.CheckpointAPIVersion, Kind: lifecycle.CheckpointKind,
		Target: receipt.Target{Name: ns, ClusterUID: uid}, Complete: true,
	}); err != nil {
		t.Fatal(err)
	}
}

// restricted has the plugin run as somebody with few rights.
func restricted(rights devtest.Rights) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, _ bool, _ []string) {
		t := ts.Value(testingTB{}).(testing.TB)
		config, _ := devtest.User(t, devtest.Cluster(t), ts.Getenv("NS"), rights)
		ts.Setenv("KUBECONFIG", devtest.Kubeconfig(t, config))
	}
}

// testingTB is the key of a script's testing.TB.
type testingTB struct{}
