// Package argocd keeps Argo CD from syncing what a lease covers: it is a
// lease.Gate of sync windows.
package argocd
