package environment

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// field returns what the downward API has of a pod for a path, as the kubelet does
// (k8s.io/kubernetes/pkg/fieldpath). Some only a pod has that runs: live says what
// one has, and may be nil.
func field(path string, template *corev1.PodTemplateSpec, namespace string, live *corev1.Pod) (string, error) {
	labels, annotations := template.Labels, template.Annotations
	if live != nil {
		labels, annotations = live.Labels, live.Annotations
	}
	if name, subscript, ok := subscripted(path); ok {
		switch name {
		case "metadata.annotations":
			return annotations[subscript], nil
		case "metadata.labels":
			return labels[subscript], nil
		}
		return "", fmt.Errorf("the downward API has no field %s", path)
	}
	switch path {
	case "metadata.annotations":
		return fieldMap(annotations), nil
	case "metadata.labels":
		return fieldMap(labels), nil
	case "metadata.namespace":
		return namespace, nil
	case "spec.serviceAccountName":
		return serviceAccount(&template.Spec), nil
	}
	of := liveFields[path]
	if of == nil {
		return "", fmt.Errorf("the downward API has no field %s", path)
	}
	if live == nil {
		return "", fmt.Errorf("field %s is a pod's, and no pod of the workload runs", path)
	}
	return of(live), nil
}

// liveFields are what only a pod that runs has.
var liveFields = map[string]func(*corev1.Pod) string{
	"metadata.name": func(p *corev1.Pod) string { return p.Name },
	"metadata.uid":  func(p *corev1.Pod) string { return string(p.UID) },
	"spec.nodeName": func(p *corev1.Pod) string { return p.Spec.NodeName },
	"status.hostIP": func(p *corev1.Pod) string { return p.Status.HostIP },
	"status.podIP":  func(p *corev1.Pod) string { return p.Status.PodIP },
	"status.hostIPs": func(p *corev1.Pod) string {
		return addresses(p.Status.HostIPs, func(ip corev1.HostIP) string { return ip.IP })
	},
	"status.podIPs": func(p *corev1.Pod) string {
		return addresses(p.Status.PodIPs, func(ip corev1.PodIP) string { return ip.IP })
	},
}

func addresses[T any](list []T, of func(T) string) string {
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = of(item)
	}
	return strings.Join(texts, ",")
}

// subscripted takes "metadata.labels['app']" apart.
func subscripted(path string) (name, subscript string, ok bool) {
	rest, ok := strings.CutSuffix(path, "']")
	if !ok {
		return "", "", false
	}
	name, subscript, ok = strings.Cut(rest, "['")
	return name, subscript, ok && name != ""
}

// fieldMap has a line for each pair.
func fieldMap(pairs map[string]string) string {
	lines := make([]string, 0, len(pairs))
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		lines = append(lines, key+"="+strconv.Quote(pairs[key]))
	}
	return strings.Join(lines, "\n")
}

// serviceAccount is the one that a pod runs as.
func serviceAccount(spec *corev1.PodSpec) string {
	if spec.ServiceAccountName != "" {
		return spec.ServiceAccountName
	}
	return "default"
}
