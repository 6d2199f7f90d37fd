package apply_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle"
)

// The API server has no reason of its own for a field that cannot be changed on
// an object that exists: these are its own words for it.
func TestImmutableFieldsLeadToTheWayOut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, docs, from, to string
		field                string
		advice               string
		cluster              string // the resource, of an object without a namespace
	}{
		{name: "Deployment", docs: deployment, from: "app: api", to: "app: other", field: "spec.selector", advice: "kubectl delete deployments.apps api --namespace NS"},
		{name: "StatefulSet", docs: strings.Replace(strings.Replace(deployment, "kind: Deployment", "kind: StatefulSet", 1), "replicas: 1", "replicas: 0\n  serviceName: a", 1),
			from: "serviceName: a", to: "serviceName: b", field: "spec.serviceName", advice: "kubectl delete statefulsets.apps api --namespace NS"},
		{name: "Job", docs: strings.Replace(onceJob, `annotations: {pharos.dev/run-once: "true"}`, "", 1), from: "migrate:1", to: "migrate:2", field: "spec.template",
			advice: `Annotate the Job with pharos.dev/run-once: "true"`},
		{name: "ConfigMap", docs: configMap + "\nimmutable: true", from: "calm", to: "wild", field: "data", advice: "Have a configMapGenerator of kustomize make it"},
		{name: "Secret", docs: "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nimmutable: true\nstringData: {p: calm}", from: "calm", to: "wild", field: "data",
			advice: "Have a secretGenerator of kustomize make it"},
		{name: "Service", docs: "apiVersion: v1\nkind: Service\nmetadata: {name: api}\nspec: {ports: [{port: 80}]}", from: "spec: {", to: "spec: {clusterIP: None, ", field: "spec.clusterIPs[0]",
			advice: "kubectl delete services api --namespace NS"},
		{name: "PersistentVolumeClaim", docs: "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], storageClassName: a, resources: {requests: {storage: 1Gi}}}",
			from: "storageClassName: a", to: "storageClassName: b", field: "spec", advice: "kubectl delete persistentvolumeclaims data --namespace NS"},
		{name: "RoleBinding", docs: "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: r}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}",
			from: "name: a}", to: "name: b}", field: "roleRef", advice: "kubectl delete rolebindings.rbac.authorization.k8s.io r --namespace NS"},
		{name: "StorageClass", docs: "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: NS}\nprovisioner: a.test", from: "a.test", to: "b.test", field: "provisioner",
			advice: "kubectl delete storageclasses.storage.k8s.io NS", cluster: "/apis/storage.k8s.io/v1/storageclasses"},
		{name: "PriorityClass", docs: "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: NS}\nvalue: 7", from: "value: 7", to: "value: 8", field: "value",
			advice: "kubectl delete priorityclasses.scheduling.k8s.io NS", cluster: "/apis/scheduling.k8s.io/v1/priorityclasses"},
		{name: "Pod", docs: "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {nodeName: NS, containers: [{name: a, image: b, command: [run]}]}", from: "[run]", to: "[stop]", field: "spec",
			advice: "kubectl delete pods p --namespace NS"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if tt.cluster != "" {
				t.Cleanup(func() {
					err := b.admin.Discovery().RESTClient().Delete().AbsPath(tt.cluster, b.namespace).Do(context.WithoutCancel(t.Context())).Error()
					if err != nil {
						t.Error(err)
					}
				})
			}
			b.deliver(t, tt.docs)
			_, err := b.Deliver(t.Context(), b.request(t, strings.Replace(tt.docs, tt.from, tt.to, -1)))
			if !errors.Is(err, lifecycle.ErrSource) || errors.Is(err, lifecycle.ErrUnreachable) {
				t.Fatalf("wrong class: %v", err)
			}
			mustContain(t, err.Error(), tt.name+" ", tt.field+" cannot be changed on an object that exists", strings.ReplaceAll(tt.advice, "NS", b.namespace), "kubectl delete ")
			if tt.name == "Secret" && (strings.Contains(err.Error(), "Y2FsbQ") || strings.Contains(err.Error(), "wild")) {
				t.Errorf("quotes a value: %v", err)
			}
		})
	}
}
