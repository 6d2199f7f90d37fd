// Package worktree reads what lies in a checkout, committed or not, as the Git
// tree that git add -A would make of it.
package worktree
