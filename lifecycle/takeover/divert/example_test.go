package divert_test

import (
	"fmt"
	"strings"

	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
)

// A plan says what is replaced, or all that is in the way.
func ExamplePlan() {
	const live = `{"apiVersion":"apps/v1","kind":"Deployment",
		"metadata":{"namespace":"shop","name":"api","uid":"5f0c8a52","generation":3},
		"spec":{"replicas":1,"template":{"spec":{"containers":[{"name":"api","image":"IMAGE","command":["/bin/api"]}]}}},
		"status":{"observedGeneration":3,"replicas":1,"updatedReplicas":1}}`
	image := "registry.example/shop/api@sha256:" + strings.Repeat("1", 64)
	agent := "registry.example/shop/pharos-agent@sha256:" + strings.Repeat("a", 64)
	doc := []byte(strings.ReplaceAll(live, "IMAGE", image))
	d, refusals, _, err := divert.Plan(doc, doc, "api", agent)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Subject, refusals)
	for _, v := range d.Values[1:] {
		fmt.Printf("%s: %s, was %s\n", v.Field, v.Agent, v.Original)
	}
	paused := []byte(strings.Replace(string(doc), `"replicas":1,"template"`, `"paused":true,"template"`, 1))
	_, refusals, _, err = divert.Plan(paused, doc, "api", agent)
	fmt.Println(refusals, err)
	// Output:
	// Deployment shop/api []
	// /command: ["/pharos-agent","run"], was ["/bin/api"]
	// [the rollout of Deployment shop/api is paused. Resume it: kubectl rollout resume deployment/api --namespace shop] <nil>
}
