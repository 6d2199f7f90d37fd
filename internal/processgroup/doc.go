// Package processgroup makes the end of a command the end of what it started.
package processgroup
