// Package dockerfile says what a Dockerfile is built on and what it reads, with
// BuildKit's own parser and without building anything.
package dockerfile
