package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/receipt"
)

// commit opens the repository and resolves a revision, HEAD if it is empty.
func (s *shared) commit(ctx context.Context, rev string) (*source.Repository, source.Commit, error) {
	repo, err := source.Open(s.repo)
	if err != nil {
		return nil, source.Commit{}, err
	}
	s.gitDir = repo.GitDir()
	commit, err := repo.Commit(ctx, rev)
	if err == nil {
		commit.Tree = s.cached(repo, commit.Tree)
	}
	return repo, commit, err
}

// catalogueOf reads the catalogue of a tree. The error has what is wrong with the
// targets as well.
func catalogueOf(ctx context.Context, tree source.Tree) (*catalogue.Catalogue, error) {
	c, err := catalogue.Load(ctx, tree)
	if err == nil {
		return c, nil
	}
	return nil, &lifecycle.Error{Op: "read", On: catalogue.FileName, Class: lifecycle.ErrSource, Err: withTargets(ctx, tree, err)}
}

// withTargets returns the error of reading a tree's catalogue with what is wrong
// with the targets as well, if it is of that kind.
func withTargets(ctx context.Context, tree source.Tree, err error) error {
	if own, ok := errors.AsType[*catalogue.ProblemsError](err); !ok || own.List[0].File != catalogue.FileName {
		return err
	}
	_, all := standard.ReadTargets(ctx, tree)
	if problems, ok := errors.AsType[*catalogue.ProblemsError](all); ok {
		return problems
	}
	return err
}

// targetAt selects the target from a commit's pharos.yaml.
func (s *shared) targetAt(ctx context.Context, commit source.Commit) (standard.Target, error) {
	return s.targetIn(ctx, commit.Tree)
}

// targetIn selects the target from a tree's pharos.yaml.
func (s *shared) targetIn(ctx context.Context, tree source.Tree) (standard.Target, error) {
	targets, err := standard.ReadTargets(ctx, tree)
	if err != nil {
		return standard.Target{}, err
	}
	t, err := standard.SelectTarget(targets, s.target)
	if errors.Is(err, standard.ErrSeveralTargets) {
		err = fmt.Errorf("%w\nName one of them with --target", err)
	}
	if errors.Is(err, standard.ErrNoTarget) && len(targets) > 0 {
		err = &wrongName{err}
	}
	return t, err
}

// wrongName is an error about a name that was given, not about pharos.yaml.
type wrongName struct{ error }

func (e *wrongName) Unwrap() []error { return []error{errUsage, e.error} }

// open returns the target of HEAD and how it is reached.
func (s *shared) open(ctx context.Context) (*source.Repository, standard.Target, standard.Options, error) {
	repo, commit, err := s.commit(ctx, "")
	if err != nil {
		return nil, standard.Target{}, standard.Options{}, err
	}
	t, err := s.targetAt(ctx, commit)
	if err != nil {
		return nil, standard.Target{}, standard.Options{}, err
	}
	o, err := s.options(t)
	if err == nil {
		s.onTarget = &openedTarget{t, o}
	}
	return repo, t, o, err
}

func (s *shared) options(t standard.Target) (standard.Options, error) {
	cfg, err := s.restConfig(t)
	if err != nil {
		return standard.Options{}, err
	}
	o := registryOptions()
	o.REST, o.Actor, o.Env, o.Checkout, o.Renderings = cfg, actor(), os.Environ(), s.repo, s.renderings()
	return o, nil
}

// registryOptions are those by which registries are reached: as the user of this
// process.
func registryOptions() standard.Options {
	return standard.Options{Keychain: authn.DefaultKeychain, Transport: proxied()}
}

// lifecycle opens a target.
func (s *shared) lifecycle(t standard.Target) (*lifecycle.Lifecycle, error) {
	o, err := s.options(t)
	if err != nil {
		return nil, err
	}
	return standard.New(t, o)
}

// proxied goes through the environment's proxies, and gives up on a server that
// takes a request and never answers.
func proxied() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = 2 * time.Minute
	return t
}

// receipts returns the store of the target of HEAD.
func (s *shared) receipts(ctx context.Context) (receipt.Store, error) {
	_, t, so, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	return standard.NewReceipts(t, so)
}

// restConfig connects to the context of the flag, else the target's, else the
// current one.
func (s *shared) restConfig(t standard.Target) (*rest.Config, error) {
	if *s.config.Context == "" && t.Context != "" {
		*s.config.Context = t.Context
	}
	cfg, err := s.config.ToRESTConfig()
	if err == nil && s.unconfigured(cfg) {
		err = errors.New("there is none")
	}
	if err != nil {
		what := "This"
		if t.Name != "" {
			what = fmt.Sprintf("Target %q", t.Name)
		}
		return nil, &lifecycle.Error{Op: "read the kubeconfig", Class: lifecycle.ErrUnreachable, Err: err,
			Advice: what + " needs a cluster: name one with --context or --kubeconfig."}
	}
	cfg.QPS = -1
	cfg.UserAgent = "kubectl-pharos/" + version().Version
	return cfg, nil
}

// unconfigured says that nothing names a cluster. The client libraries would try
// a port of this machine then.
func (s *shared) unconfigured(cfg *rest.Config) bool {
	raw, err := s.config.ToRawKubeConfigLoader().RawConfig()
	return err == nil && len(raw.Clusters) == 0 && *s.config.APIServer == "" && strings.HasSuffix(cfg.Host, "localhost:8080")
}

// actor is user@host, as good as this machine knows it.
func actor() string {
	name, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}
