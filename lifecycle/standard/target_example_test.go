package standard_test

import (
	"fmt"

	"github.com/pharos-dev/pharos/lifecycle/standard"
)

func ExampleParseTargets() {
	targets, err := standard.ParseTargets("pharos.yaml", []byte(`
apiVersion: pharos.dev/v1alpha1
kind: Target
metadata: {name: devbox}
spec:
  context: kind-dev
  registry: {push: localhost:5000/dev, pull: registry.pharos.svc:5000/dev}
  overlay: deploy/overlays/devbox
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	target, err := standard.SelectTarget(targets, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(target.Name, target.Namespace, target.Registry.Pull)
	_, err = standard.SelectTarget(targets, "prod")
	fmt.Println(err)
	// Output:
	// devbox pharos registry.pharos.svc:5000/dev
	// no such target: "prod" is not among those of pharos.yaml: devbox
}
