// Package exchange is what goes over the connections that are measured: a process that takes or gives bytes, or sends them back.
package exchange
