// Package peer holds the package dockerfile against BuildKit itself: its
// frontend, which says what a build would do, and the code with which its daemon
// copies files. They bring more requirements than a library should have, so it
// is a module of its own, and holds tests only.
package peer
