package argocd_test

import (
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
)

// nodeShop is a shop whose pods run, with images that there are.
func nodeShop(t *testing.T) *shop {
	t.Helper()
	s := newShop(t, devtest.NodeArgoCD(t))
	repository, id, ok := strings.Cut(devtest.Node(t).Busybox(), "@")
	if !ok {
		t.Fatalf("%q has no digest", devtest.Node(t).Busybox())
	}
	for i := range s.images {
		s.images[i].Repository, s.images[i].Digest = repository, lifecycle.Digest(id)
	}
	return s
}

// runs are the files of a root with a Deployment that runs, and more objects.
func (s *shop) running(container, pod, objects string) map[string]string {
	return map[string]string{
		"root/kustomization.yaml": "namespace: " + s.name + "\nresources: [api.yaml]\n",
		"root/api.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: api}
spec:
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec:
      terminationGracePeriodSeconds: 0
` + pod + `      containers:
      - name: api
        image: api
` + container + objects,
	}
}

// serving is a container that is ready once it listens.
const serving = `        command: [httpd, -f, -p, "8080"]
        readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}
`

// What never becomes healthy on a real node is told in the words of those who
// know: kubelet, the Job's controller, the scheduler. The next good commit is
// delivered on top of it, although what it does not declare any more stays, and
// Argo CD counts that in an Application's health.
func TestNeverHealthyOnANode(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]struct {
		// The parts of a Deployment, and what is beside it.
		container, pod, objects string
		// image has it run one that there is not.
		image lifecycle.Digest
		says  string
		about []string
	}{
		"image that does not exist": {container: serving, image: digest(7), says: "Image", about: []string{"Deployment", "api", string(digest(7))}},
		"crash loop": {
			container: strings.Replace(serving, `[httpd, -f, -p, "8080"]`, "[sh, -c, 'exit 3']", 1),
			says:      "CrashLoopBackOff", about: []string{"Deployment", "api"},
		},
		"readiness never true": {
			container: strings.Replace(serving, "port: 8080}", "port: 8081}", 1),
			says:      "it runs, but is not ready", about: []string{"Deployment", "api"},
		},
		"Job that fails": {
			container: serving,
			objects: `---
apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers: [{name: migrate, image: web, command: [sh, -c, "echo no such table >&2; exit 4"]}]
`,
			says: "BackoffLimitExceeded", about: []string{"Job", "migrate"},
		},
		"claim that stays pending": {
			container: serving + "        volumeMounts: [{name: data, mountPath: /data}]\n",
			pod:       "      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]\n",
			objects: `---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: no-such-class
  resources: {requests: {storage: 1Mi}}
`,
			says: "no-such-class", about: []string{"PersistentVolumeClaim", "data"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := nodeShop(t)
			s.root(automated)
			good := s.images[0].Digest
			if fault.image != "" {
				s.images[0].Digest = fault.image
			}
			d := s.mustPoint(s.running(fault.container, fault.pod, fault.objects))
			mustContain(t, s.failsSaying(lifecycle.ErrUnhealthy, d, fault.says).Error(), fault.about...)

			s.images[0].Digest = good
			s.deliver(s.commit(s.running(serving, "", "")))
			s.runs("api", s.images[0].Repository+"@"+string(good))
		})
	}
}
