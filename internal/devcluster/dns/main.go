// Command dns is CoreDNS with the few plugins that a development cluster needs: what its own program links beside
// them takes minutes to compile.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
)

func main() {
	// In the order in which a query goes through them.
	dnsserver.Directives = []string{"bind", "ready", "errors", "kubernetes"}
	coremain.Run()
}
