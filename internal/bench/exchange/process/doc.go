// Command process is the process of package exchange, on the address that is its argument.
package main
