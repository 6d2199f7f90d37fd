// Command bench runs cases of Pharos beside their peers, in turn, in one run on
// one machine, and prints the ratios: machines are noisy, ratios hold.
//
//	go run ./internal/bench              all cases
//	go run ./internal/bench -run render  those whose name matches
//	go run ./internal/bench -run fingerprint -files 50000 -images 300 -commits 20000
//	                                     in repositories of that size, instead of small ones
//	go run ./internal/bench -run fingerprint -repository DIR
//
// Both sides of a case are whole processes, unless its name says otherwise, and
// do the same work: each round runs one, then the other, and the first round is
// not counted where caches are to be warm. The peers are kubectl, of the
// development cluster's version, ko and kustomize, of the versions in the nested
// module peers, which are built first, and the git that is installed.
//
// The repositories to be fingerprinted are made by git fast-import, packed and
// loose; one has ten times the commits. They are kept below the user's cache
// folder, in pharos/bench, by their sizes. What is edited is a clone of one. Each
// "next commit" is one that nobody has seen, in a clone that borrows the objects:
// what the plugin keeps is of the commit before. Where a case says "nothing kept",
// that is removed before each round.
//
// A takeover's traffic goes over a real node, which needs Linux and root: the caller
// is on the node, the process is a child of the bench, and kubectl port-forward
// leads to the same process in a container of the same pod.
//
// It is no test: it fails only if something could not be run. It writes to
// temporary folders, to that cache and to the one of built peers.
package main
