package takeovertest

import "fmt"

// services are the files of the shop but for its manifests.
func services() map[string]string {
	return map[string]string{
		"api/main.txt":  "api 1\n",
		"mail/main.txt": "mail 1\n",
		"README.md":     "# Shop\n",
		"pharos.yaml": `apiVersion: pharos.dev/v1alpha1
kind: Catalogue
images:
- name: api
  build: {files: {from: api}}
  inputs: [api]
  run: {command: [cat]}
- name: mail
  build: {files: {from: mail}}
  inputs: [mail]
  run: {command: [cat]}
delivery: [gitops/**, pharos.yaml]
neutral: ["**/*.md"]
`,
	}
}

// target is the document of the target.
func (s *Shop) target(push, pull string) string {
	return fmt.Sprintf(`---
apiVersion: pharos.dev/v1alpha1
kind: Target
metadata: {name: %[1]s}
spec:
  namespace: %[1]s
  registry: {push: "%[2]s/%[1]s", pull: "%[3]s/%[1]s", insecure: true}
  overlay: gitops
`, s.Namespace, push, pull)
}

// manifest is a Deployment and its Service.
func manifest(name string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: 2
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers:
      - name: main
        image: %[1]s
        args: [serve]
        ports: [{name: http, containerPort: 8080}]
        readinessProbe: {exec: {command: [cat, /ready]}}
---
apiVersion: v1
kind: Service
metadata: {name: %[1]s}
spec:
  selector: {app: %[1]s}
  ports: [{port: 80, targetPort: http}]
`, name)
}
