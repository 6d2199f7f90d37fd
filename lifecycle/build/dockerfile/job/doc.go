// Package job has BuildKit build images in Jobs of a target's cluster. It is a
// Backend of package dockerfile.
//
// # The Job
//
// Each image is built by a Job of its own in the target's namespace. Its pod has
//
//	buildkitd  BuildKit, beside the others and as long as they need it
//	inputs     fetches the image's inputs by git and checks them, before
//	build      buildctl, which has BuildKit build and push
//
// The Job is named after the image and a hash of the target, the image, its
// fingerprint, the repository and what its pod is made by (BuildKit's image, the node
// selector, resources, Secrets and so on), so that of several callers that want the
// same image one creates the Job and the others wait for it: the API server decides. A
// target that is corrected does not wait for the Job that its mistake keeps from starting.
// Labels pharos.dev/build-of, pharos.dev/build-image and
// pharos.dev/build-fingerprint (the first 40 digits) select it; annotations hold
// the fingerprint, the repository, the ID of the inputs and the owner.
//
// A Job that is there already is used: one that runs is waited for; the image of one that is
// done is taken if the registry still has it. One that failed earlier is replaced. A Job
// ends at its deadline and is removed with its pod when its time to live after that is
// over, whatever became of the caller. If ctx ends, the caller that created the Job
// deletes it; others that wait for it then build again by themselves. Jobs are deleted
// with their UID as a precondition.
//
// # The inputs
//
// Nothing is sent to the pod. The pruned tree is pushed to a Git server (see
// package transport) and fetched from there by the container "inputs", by the name of
// its reference, and the build goes on only if that is the commit, and the tree, that
// it has to be: git has hashed every object by then. The files are those of the objects as they
// are; what .gitattributes says of line endings, encodings and filters does not apply, as
// it does not where the tree is streamed to a BuildKit. BuildKit's own fetching of a Git
// repository is not used: it applies these, and passes over .dockerignore.
//
// # Rights in the pod
//
// Only the container "buildkitd" is privileged: to run the commands of a Dockerfile it
// mounts file systems and makes namespaces. BuildKit can do so without, as moby/buildkit:rootless, on nodes
// that allow user namespaces and with seccomp and AppArmor unconfined; that is neither
// used nor tested here. The namespace must admit privileged pods therefore (the Pod Security level
// privileged). The other containers run as user 65532 without capabilities, on a
// read-only root. The pod has no service account token.
//
// Credentials are mounted where they are used, and never sent from here: a Secret of
// type kubernetes.io/dockerconfigjson with the registry's, one with the values of build
// secrets and one with SSH keys (by id), all of them in "build"; and one with
// the Git server's in "inputs" (key credentials, in the format of
// git-credential-store(1)). Where a step of a Dockerfile prints a line of a secret that has
// four bytes at least, *** stands in the log instead: the container "build" passes what
// buildctl prints through a filter.
//
// # The cache
//
// BuildKit keeps its cache in a folder that one BuildKit uses at a time. On a shared
// volume (Cache.Claim) each image therefore has a folder of its own: builds of different
// images run at once, and the next build of an image finds what its last one left,
// which is what it can use most of. Two builds of one image wait for each other. The
// volume has to have a file system that overlayfs can lie on, so no NFS. Without a claim each Job begins
// with an empty cache.
//
// # What can go wrong
//
// The result is what BuildKit says in its metadata, never what stands in the log. A pod
// that cannot start is given up as soon as its own reason says that it will not by
// itself (an image that cannot be pulled, a pod that is not admitted, a Secret or a key of
// it that is not there), else when it did not start
// in time; the error has the reason. So has that of a pod that is evicted or that
// dies with its node.
//
// # Rights in the cluster
//
//	apiVersion: rbac.authorization.k8s.io/v1
//	kind: Role
//	rules:
//	- apiGroups: [batch]
//	  resources: [jobs]
//	  verbs: [get, watch, create, delete]
//	- apiGroups: [""]
//	  resources: [pods]
//	  verbs: [list, watch]
//	- apiGroups: [""]
//	  resources: [pods/log]
//	  verbs: [get]
//	- apiGroups: [""]
//	  resources: [events]
//	  verbs: [list]
//
// Kubernetes 1.29 or later is needed, for containers that run beside others.
package job
