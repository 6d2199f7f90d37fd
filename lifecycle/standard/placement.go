package standard

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/pharos-dev/pharos/lifecycle"
)

// pods is what a description of pods says of where they run, and of what.
type pods struct {
	NodeName       string              `json:"nodeName"`
	NodeSelector   map[string]string   `json:"nodeSelector"`
	Affinity       *corev1.Affinity    `json:"affinity"`
	Tolerations    []corev1.Toleration `json:"tolerations"`
	Containers     []container         `json:"containers"`
	InitContainers []container         `json:"initContainers"`
}

type container struct {
	Image string `json:"image"`
}

func placements(objects []lifecycle.Object, nodes []corev1.Node) ([]lifecycle.Placement, error) {
	// The same node of each platform is named every time.
	nodes = slices.SortedFunc(slices.Values(nodes), func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	var all []lifecycle.Placement
	for _, o := range objects {
		if o.Kind == "CustomResourceDefinition" {
			continue // it describes a kind, and no pods
		}
		var content any
		if err := json.Unmarshal(o.JSON, &content); err != nil {
			return nil, fmt.Errorf("read the rendered %s %s: %w", o.Kind, o.Name, err)
		}
		for _, p := range describedPods(content) {
			all = append(all, lifecycle.Placement{Object: o, Images: p.images(), Nodes: p.nodes(nodes)})
		}
	}
	return all, nil
}

// describedPods finds the descriptions of pods anywhere in an object.
func describedPods(v any) (found []pods) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			found = append(found, describedPods(e)...)
		}
	case map[string]any:
		if list, ok := v["containers"].([]any); ok && len(list) > 0 {
			if p, ok := readPods(v); ok {
				return []pods{p}
			}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			found = append(found, describedPods(v[key])...)
		}
	}
	return found
}

// readPods reads a description of pods. What is none, though it has a list of that
// name, is not read.
func readPods(v map[string]any) (p pods, ok bool) {
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	return p, err == nil
}

func (p pods) images() (images []string) {
	for _, c := range slices.Concat(p.InitContainers, p.Containers) {
		images = append(images, c.Image)
	}
	return images
}

// nodes returns one of the nodes that the pods may be placed on for each platform.
func (p pods) nodes(all []corev1.Node) map[string]string {
	affinity := nodeaffinity.NewRequiredNodeAffinity(p.NodeSelector, p.Affinity)
	found := map[string]string{}
	for i := range all {
		node := &all[i]
		platform := platformOf(node.Labels)
		if platform == "" || found[platform] != "" || p.NodeName != "" && p.NodeName != node.Name {
			continue
		}
		// A term that cannot be read matches nothing, as for the scheduler.
		if ok, _ := affinity.Match(node); ok && (p.NodeName != "" || p.tolerates(node.Spec.Taints)) {
			found[platform] = node.Name
		}
	}
	return found
}

// tolerates says whether none of the taints keeps the pods away for good.
func (p pods) tolerates(taints []corev1.Taint) bool {
	return !slices.ContainsFunc(taints, func(taint corev1.Taint) bool {
		if taint.Effect != corev1.TaintEffectNoSchedule && taint.Effect != corev1.TaintEffectNoExecute || passes(taint.Key) {
			return false
		}
		return !slices.ContainsFunc(p.Tolerations, func(t corev1.Toleration) bool { return t.ToleratesTaint(logr.Discard(), &taint, true) })
	})
}

// passes says whether a taint tells the state of a node, which passes.
func passes(key string) bool {
	return strings.HasPrefix(key, "node.kubernetes.io/") || key == "node.cloudprovider.kubernetes.io/uninitialized"
}
