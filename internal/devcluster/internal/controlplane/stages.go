package controlplane

import (
	_ "embed"
	"fmt"

	nodefast "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	nodeheartbeat "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/config"
)

// A stage says what happens to an object of which its selector is true: it is what plays the kubelet.
var (
	//go:embed stages/pod-waiting.yaml
	podWaiting string
	//go:embed stages/pod-failed.yaml
	podFailed string
)

// hollowStages are kwok's own stages of a node and its pods, and ours for pods that say by annotation that they are
// not to become ready or not to succeed.
func hollowStages() (map[internalversion.StageResourceRef][]*internalversion.Stage, error) {
	all := []struct {
		yaml string
		// unless is an annotation with which the stage does not apply.
		unless string
	}{
		{yaml: nodefast.DefaultNodeInit},
		{yaml: nodeheartbeat.DefaultNodeHeartbeatWithLease},
		{yaml: podfast.DefaultPodReady, unless: "hollow.pharos.dev/waiting"},
		{yaml: podfast.DefaultPodComplete, unless: "hollow.pharos.dev/exit-code"},
		{yaml: podfast.DefaultPodDelete},
		{yaml: podWaiting},
		{yaml: podFailed},
	}
	stages := map[internalversion.StageResourceRef][]*internalversion.Stage{}
	for _, s := range all {
		stage, err := config.UnmarshalWithType[*internalversion.Stage](s.yaml)
		if err != nil {
			return nil, fmt.Errorf("read a stage of the hollow node: %w", err)
		}
		if s.unless != "" {
			stage.Spec.Selector.MatchExpressions = append(stage.Spec.Selector.MatchExpressions, internalversion.MatchExpression{
				JQ: &internalversion.SelectorJQ{
					Key:      fmt.Sprintf(".metadata.annotations[%q]", s.unless),
					Operator: internalversion.SelectorOpDoesNotExist,
				},
			})
		}
		stages[stage.Spec.ResourceRef] = append(stages[stage.Spec.ResourceRef], stage)
	}
	return stages, nil
}
