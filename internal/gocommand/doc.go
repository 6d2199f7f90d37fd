// Package gocommand runs the go command so that the same sources give the same
// answer on every machine.
//
// Of the user's environment the command sees where things are to be found (PATH,
// HOME, GOPROXY, GOPRIVATE, GOMODCACHE, proxies, …), and of a file that
// "go env -w" wrote only such settings. What decides which files and programs
// result (GOFLAGS, GOOS, GOEXPERIMENT, CGO_ENABLED, …) comes from the caller, or
// has one fixed value. A command ends, with all that it started, when its context
// or this process does.
package gocommand
