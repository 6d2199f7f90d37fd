package takeover

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/pharos-dev/pharos/lifecycle"
)

// pullPatience is for how long nodes may fail to pull the image of an agent. They try
// again after 10 and after 20 seconds: what failed by chance has come by then.
const pullPatience = 35 * time.Second

// unpulled are the reasons for which a container waits whose image cannot be pulled.
var unpulled = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"}

// unpulledIn is why a node has not pulled the image of a container; empty if it has, or
// has not failed.
func unpulledIn(p corev1.Pod, container string) string {
	for _, c := range p.Status.ContainerStatuses {
		if w := c.State.Waiting; c.Name == container && w != nil && slices.Contains(unpulled, w.Reason) {
			return fmt.Sprintf("pod %s: container %s: %s: %s", p.Name, c.Name, w.Reason, w.Message)
		}
	}
	return ""
}

// pullError is an agent whose image the nodes cannot pull. It is a
// lifecycle.ErrUnhealthy.
type pullError struct {
	workload Workload
	agent    string
	why      string
}

func (e *pullError) Error() string {
	return fmt.Sprintf("%s: the nodes do not get the agent's image %s: %s\nThe pods need credentials for it, as for their own images: imagePullSecrets of theirs or of their service account.",
		e.workload.Subject(), e.agent, e.why)
}

func (e *pullError) Unwrap() error { return lifecycle.ErrUnhealthy }

// pulling returns a function that fails when the nodes have not been able to pull an
// agent's image for longer than the patience.
func (s *Session) pulling(p *part) func(rollout) error {
	since := time.Duration(-1)
	return func(o rollout) error {
		switch now := s.Clock.Awake(); {
		case o.unpulled == "":
			since = -1
		case since < 0:
			since = now
		case now-since >= pullPatience:
			return &pullError{p.workload, s.diversion(p).Agent, o.unpulled}
		}
		return nil
	}
}
