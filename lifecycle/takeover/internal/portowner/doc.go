// Package portowner names the process that listens on a TCP port of this machine,
// so that an error about a port in use says what to end.
package portowner
