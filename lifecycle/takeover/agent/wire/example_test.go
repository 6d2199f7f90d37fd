package wire_test

import (
	"fmt"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

func ExampleParseSession() {
	s, err := wire.ParseSession([]byte(golden))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Workload, s.Ports[0].Number, s.Ports[0].Probes)
	// Output: Deployment shop/api 8080 [grpc http]
}
