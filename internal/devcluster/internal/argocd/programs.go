package argocd

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/internal/devcluster/internal/state"
)

// The names by which the program is started.
const (
	controller = "argocd-application-controller"
	repoServer = "argocd-repo-server"
	redis      = "redis-server"
	kustomize  = "kustomize"
)

const (
	// Resync is after what time the controller looks at an Application again without a reason.
	Resync = 5 * time.Second
	// SelfHeal is how long the controller waits before it heals again what it has just healed.
	SelfHeal = 2 * time.Second
)

// programs are the running programs. Its methods must not be called by several goroutines at once.
type programs struct {
	folder *state.Folder
	// args are the programs' arguments and ready asks whether one works, both by its name.
	args  map[string][]string
	ready map[string]func(context.Context) error
	env   []string

	running map[string]*process
	// failed receives the first failure.
	failed chan error
}

func (c Config) newPrograms() (*programs, error) {
	address, err := state.FreeAddresses(4)
	if err != nil {
		return nil, err
	}
	redisAddress, repoAddress, repoHealth, controllerHealth := address[0], address[1], address[2], address[3]
	p := &programs{
		folder: c.Folder,
		args: map[string][]string{
			redis: {"--address", redisAddress},
			repoServer: {
				"--redis", redisAddress, "--disable-tls", "--logformat", "text",
				"--address", host(repoAddress), "--port", port(repoAddress),
				"--metrics-address", host(repoHealth), "--metrics-port", port(repoHealth),
			},
			controller: {
				"--redis", redisAddress, "--repo-server", repoAddress, "--repo-server-plaintext", "--logformat", "text",
				"--kubeconfig", c.Kubeconfig, "--namespace", Namespace, "--metrics-port", port(controllerHealth),
				"--app-resync", seconds(Resync), "--app-resync-jitter", "0",
				"--self-heal-timeout-seconds", seconds(SelfHeal),
				// As long after the tenth healing as after the first.
				"--self-heal-backoff-timeout-seconds", "0",
			},
		},
		ready: map[string]func(context.Context) error{
			redis: func(ctx context.Context) error {
				var d net.Dialer
				conn, err := d.DialContext(ctx, "tcp", redisAddress)
				if err != nil {
					return err
				}
				return conn.Close()
			},
			repoServer: func(ctx context.Context) error { return healthy(ctx, "http://"+repoHealth+"/healthz?full=true") },
			controller: func(ctx context.Context) error { return healthy(ctx, "http://"+controllerHealth+"/healthz") },
		},
		running: map[string]*process{},
		failed:  make(chan error, 1),
	}
	if err := p.makeFolders(c.Program); err != nil {
		return nil, err
	}
	p.env = []string{
		"PATH=" + p.folder.Path("bin") + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + p.folder.Path("home"),
		// Clones, caches and sockets.
		"TMPDIR=" + p.folder.Path("tmp"),
		// The destination https://kubernetes.default.svc is this cluster.
		"ARGOCD_FAKE_IN_CLUSTER=true",
		"KUBECONFIG=" + c.Kubeconfig,
		"ARGOCD_GPG_ENABLED=false",
		"ARGOCD_APP_CONF_PATH=" + p.folder.Path("config"),
		"ARGOCD_TLS_DATA_PATH=" + p.folder.Path("config", "tls"),
		"ARGOCD_SSH_DATA_PATH=" + p.folder.Path("config", "ssh"),
		"ARGOCD_PLUGINSOCKFILEPATH=" + p.folder.Path("config", "plugins"),
		// A test corrects what it has broken, and is not to wait an hour.
		"ARGOCD_PAUSE_GEN_AFTER_FAILED_ATTEMPTS=0",
	}
	return p, nil
}

func (p *programs) makeFolders(program string) error {
	for _, dir := range []string{"bin", "home", "tmp", "config/tls", "config/ssh", "config/plugins"} {
		if err := os.MkdirAll(p.folder.Path(dir), 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(p.folder.Path("config", "ssh", "ssh_known_hosts"), nil, 0o600); err != nil {
		return err
	}
	for _, name := range []string{controller, repoServer, redis, kustomize} {
		link := p.folder.Path("bin", name)
		if err := os.RemoveAll(link); err != nil {
			return err
		}
		if err := os.Symlink(program, link); err != nil {
			return err
		}
	}
	return nil
}

// start starts a program that does not run and waits until it works.
func (p *programs) start(ctx context.Context, name string) error {
	if p.running[name] != nil {
		return fmt.Errorf("%s runs already", name)
	}
	log, err := p.folder.LogFile(name + ".log")
	if err != nil {
		return err
	}
	started, err := startProcess(p.folder.Path("bin", name), p.args[name], p.env, log)
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	p.running[name] = started
	go func() {
		<-started.exited
		if !started.ending.Load() {
			select {
			case p.failed <- fmt.Errorf("%s ended by itself: %v; the end of its log:\n%s", name, started.err, tail(log.Name())):
			default:
			}
		}
	}()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		if p.ready[name](ctx) == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-started.exited:
			return <-p.failed
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", name, ctx.Err())
		}
	}
}

// stop ends a program and waits until it is gone.
func (p *programs) stop(name string) error {
	running := p.running[name]
	if running == nil {
		return fmt.Errorf("%s does not run", name)
	}
	running.stop()
	p.running[name] = nil
	return nil
}

// stopAll ends all of them at once, without a chance to write anything more.
func (p *programs) stopAll() {
	for _, running := range p.running {
		if running != nil {
			running.kill()
		}
	}
}

func (p *programs) pause(name string) error {
	if p.running[name] == nil {
		return fmt.Errorf("%s does not run", name)
	}
	return p.running[name].pause()
}

func (p *programs) resume(name string) error {
	if p.running[name] == nil {
		return fmt.Errorf("%s does not run", name)
	}
	return p.running[name].resume()
}

// healthy asks a health check.
func healthy(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, answer.Status)
	}
	return nil
}

// tail is the end of a log.
func tail(path string) string {
	b, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(b[max(0, len(b)-2000):]))
}

func host(address string) string { return address[:strings.LastIndex(address, ":")] }

func port(address string) string { return address[strings.LastIndex(address, ":")+1:] }

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }
