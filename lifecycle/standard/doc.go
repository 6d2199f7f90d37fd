// Package standard puts the usual set of a [lifecycle.Lifecycle] together from
// a Target document of pharos.yaml and a connection to a cluster: receipts in
// ConfigMaps, the lease, the builders of Go packages, files and Dockerfiles, the
// registry, kustomize and server-side apply. It is what kubectl pharos uses.
//
// [ParseTargets] reads the Target documents; [ReadTargets] reads them from a
// commit's tree, since a commit is delivered by its own pharos.yaml. [New]
// makes the Lifecycle. To exchange a part, take the result of [Config], change
// it, and hand it to [lifecycle.New].
package standard
