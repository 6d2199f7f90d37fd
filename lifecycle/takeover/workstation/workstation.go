package workstation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/lifecycle/supervise"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/environment"
)

// Inherited are the names of the variables of this machine that reach a process, before
// those of its workload.
var inherited = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "COLORTERM", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"}

// Inherited returns what of an environment, as of os.Environ, reaches a process, before
// what its workload has: names like PATH and HOME, never all of it.
func Inherited(environ []string) (list []string) {
	for _, v := range environ {
		if name, _, _ := strings.Cut(v, "="); slices.Contains(inherited, name) {
			list = append(list, v)
		}
	}
	return list
}

// Config is what a Workstation needs.
type Config struct {
	// REST is how the target's API server is reached. Required.
	REST *rest.Config
	// Root is the checkout's folder, absolute. Required.
	Root string
	// Folder is private to the checkout, for what is built and for restart budgets. It
	// is made if it is missing. Required.
	Folder string
	// Environ is the user's environment, as of os.Environ. Required.
	Environ []string
	// Memory are folders for the mounted files of workloads, those in memory first. The
	// default is the folder for temporary files.
	Memory []string
	// Output returns what takes what the process of an image and its builds print, in
	// pieces of any size. The default discards it.
	Output func(image string) io.Writer
	// Log receives what is no event. The default discards it.
	Log *slog.Logger
}

// Workstation runs workloads as processes of this machine. It is safe for concurrent
// use.
type Workstation struct {
	Config
	reader environment.Reader
	pods   *rest.RESTClient
}

var _ takeover.Workstation = (*Workstation)(nil)

// New checks the configuration. It makes no request.
func New(c Config) (*Workstation, error) {
	var missing []error
	require := func(ok bool, field string) {
		if !ok {
			missing = append(missing, fmt.Errorf("workstation: Config.%s is required", field))
		}
	}
	require(c.REST != nil, "REST")
	require(filepath.IsAbs(c.Root), "Root, an absolute path,")
	require(filepath.IsAbs(c.Folder), "Folder, an absolute path,")
	require(c.Environ != nil, "Environ")
	if err := errors.Join(missing...); err != nil {
		return nil, err
	}
	if len(c.Memory) == 0 {
		c.Memory = []string{os.TempDir()}
	}
	if c.Output == nil {
		c.Output = func(string) io.Writer { return io.Discard }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	reader, err := environment.NewReader(c.REST)
	if err != nil {
		return nil, err
	}
	pods, err := kubeclient.New(c.REST, corev1.SchemeGroupVersion, corev1.AddToScheme)
	if err != nil {
		return nil, err
	}
	return &Workstation{Config: c, reader: reader, pods: pods}, nil
}

// Start implements takeover.Workstation.
func (w *Workstation) Start(ctx context.Context, r takeover.StartRequest) (takeover.Process, error) {
	if _, err := os.Stat(w.Root); err != nil {
		return nil, fmt.Errorf("look for the checkout: %w", err) // what it needs there would bring a part of it back
	}
	p := &process{Workstation: w, request: r}
	if err := p.start(ctx); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// Recover implements takeover.Workstation: it wipes the files of processes that were
// killed.
func (w *Workstation) Recover() error {
	wiped, err := environment.Recover(w.Memory...)
	for _, folder := range wiped {
		w.Log.Info("wiped the files of a takeover that was killed", "folder", folder)
	}
	return err
}

// budget is the restart budget of a workload for as long as its takeover lasts, through
// every process that goes on with that. Those of takeovers that are over go: of one
// checkout there is one at a time.
func (w *Workstation) budget(session, workload string) (*supervise.File, error) {
	folder := filepath.Join(w.Folder, "budget")
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for the restart budgets of takeovers that are over: %w", err)
	}
	for _, e := range entries {
		if e.Name() == session {
			continue
		}
		if err := os.RemoveAll(filepath.Join(folder, e.Name())); err != nil {
			return nil, fmt.Errorf("remove the restart budget of a takeover that is over: %w", err)
		}
	}
	return supervise.NewFile(filepath.Join(folder, session, workload))
}

// running is one of a workload's pods, for what only a pod has that runs; nil if there
// is none.
func (w *Workstation) running(ctx context.Context, d *appsv1.Deployment) (*corev1.Pod, error) {
	var selector []string
	if d.Spec.Selector != nil {
		for k, v := range d.Spec.Selector.MatchLabels {
			selector = append(selector, k+"="+v)
		}
	}
	if len(selector) == 0 {
		return nil, nil
	}
	slices.Sort(selector)
	pods := &corev1.PodList{}
	err := kubeclient.Retry(ctx, func() error {
		return w.pods.Get().Namespace(d.Namespace).Resource("pods").Param("labelSelector", strings.Join(selector, ",")).MaxRetries(0).Do(ctx).Into(pods)
	})
	if err != nil {
		return nil, fmt.Errorf("list the pods of Deployment %s/%s: %w", d.Namespace, d.Name, err)
	}
	for i, p := range pods.Items {
		if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
			return &pods.Items[i], nil
		}
	}
	return nil, nil
}
