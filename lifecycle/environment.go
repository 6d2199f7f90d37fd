package lifecycle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/receipt"
)

// unread finds configuration that a delivery has changed and that what runs goes on
// without: values are put into a container's environment when it starts, and a
// workload that stays as it is starts none. before is what was applied before.
func unread(objects []Object, resolved, before []receipt.Object) []Finding {
	was := map[string]string{}
	for _, o := range before {
		was[o.Group+" "+ObjectName(o)] = o.Hash
	}
	known := func(o receipt.Object) (hash string, ok bool) {
		hash, ok = was[o.Group+" "+ObjectName(o)]
		return hash, ok
	}
	changed := map[string]bool{}
	for _, o := range resolved {
		if hash, ok := known(o); ok && hash != o.Hash && o.Group == "" {
			changed[ObjectName(o)] = true
		}
	}
	readers := map[string][]receipt.Object{} // of what changed
	for i, o := range resolved {
		if hash, _ := known(o); hash != o.Hash || o.Group != "apps" || len(changed) == 0 {
			continue
		}
		for _, read := range environmentOf(objects[i].JSON, o.Namespace) {
			if changed[read] {
				readers[read] = append(readers[read], o)
			}
		}
	}
	var list []Finding
	for _, subject := range slices.Sorted(maps.Keys(readers)) {
		var names, arguments []string
		for _, o := range readers[subject] {
			names = append(names, ObjectName(o))
			arguments = append(arguments, strings.ToLower(o.Kind)+"/"+o.Name)
		}
		list = append(list, Finding{Subject: subject, Message: fmt.Sprintf(
			"it has changed, and what has it in its environment has not: %s. Pods that run keep the old values. Let a generator of kustomize name it by its content, or start them anew: kubectl rollout restart --namespace %s %s",
			strings.Join(names, ", "), readers[subject][0].Namespace, strings.Join(arguments, " "))})
	}
	return list
}

// environmentOf names the ConfigMaps and Secrets that the environments of a
// workload's containers come from.
func environmentOf(doc []byte, namespace string) []string {
	type ref struct {
		Name string `json:"name"`
	}
	type container struct {
		EnvFrom []struct {
			ConfigMap ref `json:"configMapRef"`
			Secret    ref `json:"secretRef"`
		} `json:"envFrom"`
		Env []struct {
			From struct {
				ConfigMap ref `json:"configMapKeyRef"`
				Secret    ref `json:"secretKeyRef"`
			} `json:"valueFrom"`
		} `json:"env"`
	}
	var workload struct {
		Spec struct {
			Template struct {
				Spec struct {
					Init       []container `json:"initContainers"`
					Containers []container `json:"containers"`
				} `json:"spec"`
			} `json:"template"`
		} `json:"spec"`
	}
	if json.Unmarshal(doc, &workload) != nil {
		return nil // the server has the last word on its form
	}
	var names []string
	add := func(kind string, r ref) {
		if name := ObjectName(receipt.Object{Kind: kind, Namespace: namespace, Name: r.Name}); r.Name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, c := range append(workload.Spec.Template.Spec.Init, workload.Spec.Template.Spec.Containers...) {
		for _, from := range c.EnvFrom {
			add("ConfigMap", from.ConfigMap)
			add("Secret", from.Secret)
		}
		for _, env := range c.Env {
			add("ConfigMap", env.From.ConfigMap)
			add("Secret", env.From.Secret)
		}
	}
	return names
}
