// Command pause is what holds a pod's namespaces: it waits for a signal and does nothing else. It is linked statically,
// since its image has no other file.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGINT, syscall.SIGTERM)
	// With a process namespace that the pod's containers share, orphans become its children.
	signal.Ignore(syscall.SIGCHLD)
	<-end
}
