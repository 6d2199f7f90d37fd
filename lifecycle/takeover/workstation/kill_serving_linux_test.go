package workstation_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/killtest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
)

// While a service is served from a workstation there are killed the terminal, the
// process, a pod, an agent and all connections to the API server, and the kubelet does
// nothing while it is handed back.
func TestNodeServingKilled(t *testing.T) {
	t.Parallel()
	k := newKilling(t)
	n := devtest.Node(t)
	way := newWay(t, k.REST)
	r := k.role
	r.Kubeconfig = devtest.Kubeconfig(t, way.config(k.REST))
	client := k.guardian(r)
	k.answers("v2 workstation false ")

	terminal := r
	terminal.Terminal = true
	watching := killtest.Command(t, terminal)
	out, err := watching.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := watching.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Errorf("the terminal shows nothing: %v", err)
	}
	_ = watching.Process.Kill()
	_ = watching.Wait()
	process := k.process(client)

	kill(t, process.pid)
	k.until("the process runs again", func() bool { return k.process(client).generation > process.generation })
	k.answers("v2 workstation false ")

	pods := k.pods()
	if err := k.Client().CoreV1().Pods(k.Namespace).Delete(t.Context(), pods[0].name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	k.until("another pod is there", func() bool { return !k.has(pods[0].name) })
	k.rolledOut()
	k.answers("v2 workstation false ")

	for _, pod := range k.pods() {
		kill(t, k.find("the agent of pod "+pod.name, func(process string) bool {
			command, _ := os.ReadFile(filepath.Join(process, "cmdline"))
			cgroup, _ := os.ReadFile(filepath.Join(process, "cgroup"))
			uid := strings.ReplaceAll(pod.uid, "-", "_")
			return bytes.HasPrefix(command, []byte(wire.BinaryPath)) && (bytes.Contains(cgroup, []byte(uid)) || bytes.Contains(cgroup, []byte(pod.uid)))
		}))
		k.until("the agent runs again", func() bool {
			p, err := k.Client().CoreV1().Pods(k.Namespace).Get(t.Context(), pod.name, metav1.GetOptions{})
			return err == nil && len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].RestartCount > 0 && p.Status.ContainerStatuses[0].Ready
		})
	}
	k.answers("v2 workstation false ")

	way.cut()
	way.mend()
	k.answers("v2 workstation false ")
	if now, err := client.Status(t.Context()); err != nil || len(now.Workloads) != 1 || !now.Workloads[0].Serving {
		t.Errorf("after all that it is %+v, %v", now, err)
	}

	node, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", n.InitPID()))
	if err != nil {
		t.Fatal(err)
	}
	kubelet := k.find("the kubelet", func(process string) bool {
		program, _ := os.Readlink(filepath.Join(process, "exe"))
		in, _ := os.Readlink(filepath.Join(process, "ns", "pid"))
		return filepath.Base(program) == "kubelet" && in == node
	})
	if err := syscall.Kill(kubelet, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(kubelet, syscall.SIGCONT) })
	ended := make(chan error, 1)
	go func() { ended <- client.HandBack(t.Context()) }()
	k.until("the workload is as it was", func() bool { return k.Spec("api") == k.before })
	select {
	case err := <-ended:
		t.Errorf("it is handed back, and no pod can have been replaced: %v", err)
	default:
	}
	if err := syscall.Kill(kubelet, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("handed back: %v", err)
	}
	k.whole()
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill process %d: %v", pid, err)
	}
}

// find is the one process that is so.
func (k *killing) find(what string, is func(process string) bool) int {
	k.t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		k.t.Fatal(err)
	}
	for _, process := range processes {
		if !is(process) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(process))
		if err != nil {
			k.t.Fatal(err)
		}
		return pid
	}
	k.t.Fatalf("no process is %s", what)
	return 0
}

type processState struct{ pid, generation int }

// process is the service's on this machine.
func (k *killing) process(client *guardian.Client) processState {
	k.t.Helper()
	st, err := client.Status(k.t.Context())
	if err != nil || len(st.Workloads) != 1 || st.Workloads[0].Process == nil {
		k.t.Fatalf("the status is %+v, %v", st, err)
	}
	p := st.Workloads[0].Process
	return processState{p.PID, p.Generation}
}

type podName struct{ name, uid string }

// pods are those of the service.
func (k *killing) pods() (list []podName) {
	k.t.Helper()
	pods, err := k.Client().CoreV1().Pods(k.Namespace).List(k.t.Context(), metav1.ListOptions{LabelSelector: "app=api"})
	if err != nil || len(pods.Items) == 0 {
		k.t.Fatalf("the pods are %v, %v", pods, err)
	}
	for _, p := range pods.Items {
		list = append(list, podName{p.Name, string(p.UID)})
	}
	return list
}

func (k *killing) has(name string) bool {
	k.t.Helper()
	for _, p := range k.pods() {
		if p.name == name {
			return true
		}
	}
	return false
}
