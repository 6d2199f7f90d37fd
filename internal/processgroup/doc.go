// Package processgroup makes the end of a command, and that of the process that
// runs it, the end of what it started.
package processgroup
