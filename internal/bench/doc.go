// Command bench runs cases of Pharos beside their peers, in turn, in one run on
// one machine, and prints the ratios: machines are noisy, ratios hold.
//
//	go run ./internal/bench              all cases
//	go run ./internal/bench -run render  those whose name matches
//
// Both sides of a case are whole processes, unless its name says otherwise, and
// do the same work: each round runs one, then the other, and the first round is
// not counted where caches are to be warm. The peers are kubectl, of the
// development cluster's version, and ko and kustomize, of the versions in the
// nested module peers; they are built first.
//
// It is no test: it fails only if something could not be run. It writes to
// temporary folders and to the cache of built peers.
package main
