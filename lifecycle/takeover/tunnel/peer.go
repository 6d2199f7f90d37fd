package tunnel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// peer is a pod that may run the agent.
type peer struct {
	tunnel *Tunnel
	name   string
	uid    types.UID
	owner  *metav1.OwnerReference
	gone   chan struct{}

	mu       sync.Mutex
	ours     bool // it is one of the Deployment's, with the agent
	image    bool // its container has the agent's image
	running  bool // its container runs
	restarts int32
	ending   bool
	seen     chan struct{} // closed when one of these has changed
	link     *link         // nil without a stream
	err      error
}

func newPeer(t *Tunnel, pod *corev1.Pod) *peer {
	return &peer{tunnel: t, name: pod.Name, uid: pod.UID, owner: metav1.GetControllerOf(pod), gone: make(chan struct{}), seen: make(chan struct{})}
}

// see takes over how the pod is.
func (p *peer) see(pod *corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	image, running, restarts := agentIn(pod, p.tunnel.config.Container, p.tunnel.config.AgentImage)
	ending := pod.DeletionTimestamp != nil
	if image == p.image && running == p.running && restarts == p.restarts && ending == p.ending {
		return
	}
	p.image, p.running, p.restarts, p.ending = image, running, restarts, ending
	close(p.seen)
	p.seen = make(chan struct{})
	p.tunnel.change()
}

// agentIn says whether the container has the agent's image, whether it runs, and how often it was started again.
func agentIn(pod *corev1.Pod, container, image string) (has, running bool, restarts int32) {
	for _, c := range pod.Spec.Containers {
		has = has || c.Name == container && c.Image == image
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name != container {
			continue
		}
		// Admission may have it pulled from elsewhere, under the same digest.
		_, want, ok := strings.Cut(image, "@")
		has = has || ok && strings.HasSuffix(c.ImageID, "@"+want)
		return has, c.State.Running != nil, c.RestartCount
	}
	return has, false, 0
}

// leave says that the pod is gone.
func (p *peer) leave() { close(p.gone) }

// pod is the state of a pod with the agent; false if it is none.
func (p *peer) pod() (Pod, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Pod{Name: p.name, UID: p.uid, Draining: p.ending, Err: p.err}
	if l := p.link; l != nil {
		s.Connected, s.Protocol, s.Open = l.since, string(l.protocol), int(l.open.Load())
		s.Draining = s.Draining || l.draining.Load()
	}
	return s, p.image && (p.ours || p.err != nil)
}

// run keeps a stream to the pod until that is gone or ctx ends.
func (p *peer) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	left := make(chan struct{})
	defer func() { <-left }()
	defer cancel()
	go func() {
		defer close(left)
		select {
		case <-p.gone:
			cancel()
		case <-ctx.Done():
		}
	}()

	if !p.owned(ctx) {
		return
	}
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		restarts, ok := p.awaitAgent(ctx)
		if !ok {
			return
		}
		began := time.Now()
		err := p.connect(ctx, restarts)
		if ctx.Err() != nil {
			return
		}
		p.lost(err)
		if time.Since(began) > longestPause {
			pause = firstPause
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// awaitAgent waits until the agent runs, and returns how often its container was started again; false when ctx ends.
func (p *peer) awaitAgent(ctx context.Context) (restarts int32, ok bool) {
	for {
		p.mu.Lock()
		ready, restarts, seen := p.image && p.running, p.restarts, p.seen
		p.mu.Unlock()
		if ready {
			return restarts, ctx.Err() == nil
		}
		select {
		case <-seen:
		case <-ctx.Done():
			return 0, false
		}
	}
}

// lost takes over why there is no stream.
func (p *peer) lost(err error) {
	p.mu.Lock()
	p.link = nil
	first := p.err == nil
	p.err = err
	ending := p.ending
	p.mu.Unlock()
	if first && !ending {
		p.tunnel.log.Warn("the stream to an agent is lost", "pod", p.name, "error", err)
	}
	p.tunnel.change()
}

// has takes over that there is a stream.
func (p *peer) has(l *link) {
	p.mu.Lock()
	p.link, p.err = l, nil
	p.mu.Unlock()
	p.tunnel.log.Info("there is a stream to an agent", "pod", p.name, "protocol", l.protocol)
	p.tunnel.change()
}

// tell tells the agent, if there is a stream, whether to hold, as the Tunnel says.
func (p *peer) tell() chan error {
	told := make(chan error, 1)
	p.mu.Lock()
	l := p.link
	p.mu.Unlock()
	if l == nil {
		told <- nil
		return told
	}
	l.ask(told)
	return told
}

// owned reports whether a ReplicaSet of the Deployment owns the pod; false also when ctx ends.
func (p *peer) owned(ctx context.Context) bool {
	if p.owner == nil || p.owner.Kind != "ReplicaSet" {
		return false
	}
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		var rs appsv1.ReplicaSet
		err := p.tunnel.apps.Get().Resource("replicasets").Namespace(p.tunnel.config.Namespace).Name(p.owner.Name).MaxRetries(0).Do(ctx).Into(&rs)
		switch {
		case err == nil && rs.UID == p.owner.UID:
			of := metav1.GetControllerOf(&rs)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.ours, p.err = of != nil && of.UID == p.tunnel.config.UID, nil
			p.tunnel.change()
			return p.ours
		case err == nil, apierrors.IsNotFound(err):
			return false // and so will the pod be gone
		case ctx.Err() != nil:
			return false
		}
		advice := ""
		if apierrors.IsForbidden(err) {
			advice = fmt.Sprintf(" (grant get on replicasets in namespace %s)", p.tunnel.config.Namespace)
		}
		p.lost(fmt.Errorf("read ReplicaSet %s/%s, which owns the pod: %w%s", p.tunnel.config.Namespace, p.owner.Name, err, advice))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false
		}
	}
}

// errSilent is the cause of a stream that was given up.
var errSilent = errors.New("the agent gives no sign of life")
