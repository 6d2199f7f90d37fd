package takeover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
)

// lookEvery is how often a rollout is looked at, by two requests.
const lookEvery = 500 * time.Millisecond

// rollouts looks at the pods of Deployments.
type rollouts struct {
	apps, core *rest.RESTClient
}

func newRollouts(config *rest.Config) (*rollouts, error) {
	apps, err := kubeclient.New(config, appsv1.SchemeGroupVersion, appsv1.AddToScheme)
	if err != nil {
		return nil, err
	}
	core, err := kubeclient.New(config, corev1.SchemeGroupVersion, corev1.AddToScheme)
	return &rollouts{apps, core}, err
}

// rollout is how far the pods of a Deployment have come.
type rollout struct {
	// complete says that the newest template alone runs, in as many pods as are
	// wanted, all of them available.
	complete bool
	wanted   int
	// agents are the pods whose container has the agent, terminating ones too;
	// leaving are those of them that terminate. others counts the pods without it, and
	// othersEnding those of them that terminate.
	agents, leaving      []types.UID
	others, othersEnding int
	// unpulled is why nodes do not get the agent's image; empty if they do.
	unpulled string
	// why is the first thing that keeps a pod from being ready, for people.
	why string
}

// look reads a Deployment and its pods. A Deployment that is not there has none.
func (r *rollouts) look(ctx context.Context, d divert.Diversion) (rollout, error) {
	deployment := &appsv1.Deployment{}
	err := kubeclient.Retry(ctx, func() error {
		return r.apps.Get().Namespace(d.Namespace).Resource("deployments").Name(d.Name).MaxRetries(0).Do(ctx).Into(deployment)
	})
	if kubeclient.NotFound(err) {
		return rollout{complete: true}, nil
	}
	if err != nil {
		return rollout{}, fmt.Errorf("read %s: %w", d.Subject, err)
	}
	selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector)
	if err != nil {
		return rollout{}, fmt.Errorf("read the selector of %s: %w", d.Subject, err)
	}
	pods := &corev1.PodList{}
	err = kubeclient.Retry(ctx, func() error {
		return r.core.Get().Namespace(d.Namespace).Resource("pods").Param("labelSelector", selector.String()).MaxRetries(0).Do(ctx).Into(pods)
	})
	if err != nil {
		return rollout{}, fmt.Errorf("list the pods of %s: %w", d.Subject, err)
	}
	return judge(deployment, pods.Items, d), nil
}

// judge says how far a rollout has come, as kubectl rollout status does.
func judge(deployment *appsv1.Deployment, pods []corev1.Pod, d divert.Diversion) rollout {
	s, wanted := deployment.Status, ptr.Deref(deployment.Spec.Replicas, 1)
	o := rollout{wanted: int(wanted), complete: s.ObservedGeneration >= deployment.Generation && s.UpdatedReplicas >= wanted && s.Replicas == s.UpdatedReplicas && s.AvailableReplicas >= wanted}
	for _, p := range pods {
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		if !slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == d.Container && d.IsAgent(c.Image) }) {
			o.others++
			if p.DeletionTimestamp != nil {
				o.othersEnding++
			}
			continue
		}
		o.agents = append(o.agents, p.UID)
		if p.DeletionTimestamp != nil {
			o.leaving = append(o.leaving, p.UID)
		} else if o.unpulled == "" {
			o.unpulled = unpulledIn(p, d.Container)
		}
		if o.why == "" {
			o.why = trouble(p)
		}
	}
	return o
}

// trouble is why a pod does not become ready, as far as its containers say so.
func trouble(p corev1.Pod) string {
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && w.Message != "" {
			return fmt.Sprintf("pod %s: container %s: %s: %s", p.Name, c.Name, w.Reason, w.Message)
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return fmt.Sprintf("pod %s: %s", p.Name, c.Message)
		}
	}
	return ""
}

// errSlow is matched by every *slowError.
var errSlow = errors.New("it took too long")

// slowError is a wait for the pods of a workload that took too long. It is a
// lifecycle.ErrUnhealthy.
type slowError struct {
	workload Workload
	patience time.Duration
	pods     Pods
	// what is what did not happen in time, why what keeps a pod from it.
	what, why string
}

func (e *slowError) Error() string {
	text := fmt.Sprintf("%s: %s within %s: %d wanted, %d with the agent, of which %d were served from here, %d without",
		e.workload.Subject(), e.what, e.patience, e.pods.Wanted, e.pods.Agents, e.pods.Connected, e.pods.Others)
	if e.why != "" {
		text += ": " + e.why
	}
	return text + "\nWhat keeps them: kubectl describe pods --namespace " + e.workload.Namespace + ". If they only need longer, say so with --timeout."
}

func (e *slowError) Unwrap() []error { return []error{errSlow, lifecycle.ErrUnhealthy} }

// notTaken says which of what a takeover waits for is missing.
func notTaken(n Pods) string {
	switch {
	case n == Pods{}:
		return notLooked
	case n.Others > 0 || n.Agents-n.AgentsEnding < n.Wanted:
		return "not all of its pods were replaced"
	case n.Connected < n.Agents-n.AgentsEnding:
		return "its pods were replaced, and not all of them were served from here"
	}
	return "its pods were replaced and served from here, and not all of them were ready"
}

// notLeft says which of what a hand-back waits for is missing.
func notLeft(n Pods) string {
	switch {
	case n == Pods{}:
		return notLooked
	case n.Agents > 0:
		return "not all of its pods with the agent were replaced"
	}
	return "its pods were replaced, and not all of them were ready"
}

const notLooked = "its pods could not be looked at"

// awaitPods looks at a workload's pods until done says so or fails, ctx ends or the
// session's patience does, whose error says what is missing. Whenever they change it says so.
func (s *Session) awaitPods(ctx context.Context, p *part, done func(rollout) (bool, error), missing func(Pods) string) error {
	late := s.Clock.After(s.Timeout)
	var last Pods
	var why string
	for {
		o, err := s.pods.look(ctx, s.diversion(p))
		if err == nil {
			now := s.count(p, o)
			if is, err := done(o); is || err != nil {
				return err
			}
			if now != last || o.why != why {
				last, why = now, o.why
				s.emitOf(p, Event{Type: EventWaiting, Pods: &now, Reason: o.why})
			}
		} else if !passes(err) {
			return err
		}
		select {
		case <-s.Clock.After(lookEvery):
		case <-late:
			return &slowError{p.workload, s.Timeout, last, missing(last), why}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (s *Session) count(p *part, o rollout) Pods {
	n := Pods{Wanted: o.wanted, Agents: len(o.agents), Others: o.others, AgentsEnding: len(o.leaving), OthersEnding: o.othersEnding}
	for _, uid := range o.agents {
		if !slices.Contains(o.leaving, uid) && p.process != nil && p.process.Connected(uid) {
			n.Connected++
		}
	}
	return n
}

// taken says that every pod has the agent, and is served from here. It fails where the
// nodes do not get the agent's image.
func (s *Session) taken(p *part) func(rollout) (bool, error) {
	pulling := s.pulling(p)
	return func(o rollout) (bool, error) {
		return o.taken(p.process.Connected), pulling(o)
	}
}

// left says that no pod has the agent any more, and the others are available.
func left(o rollout) (bool, error) { return len(o.agents) == 0 && o.complete, nil }

// isDiverted says whether a live Deployment still has the agent.
func isDiverted(live json.RawMessage, d divert.Diversion) (bool, error) {
	r, err := divert.Restore(live, d)
	return hasAgent(r), err
}

// hasAgent says whether the container still runs the agent, whatever else of it was
// changed.
func hasAgent(r divert.Restoration) bool {
	return r.Outcome == divert.OutcomeRestored && !slices.Contains(kept(r), "/image")
}
