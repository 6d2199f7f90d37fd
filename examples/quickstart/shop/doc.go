// Package shop makes the repository of the quickstart: a Git repository with
// three Go services, a library that two of them use, a website that a Dockerfile
// builds on one of them where there is a BuildKit, manifests for kustomize, and a
// pharos.yaml. It needs the git program, and nothing of the user's Git
// configuration has a say in it.
package shop
