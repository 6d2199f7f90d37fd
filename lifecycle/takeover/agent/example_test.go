package agent_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// The kubelet is answered before any workstation has come.
func ExampleRun() {
	addresses := make(chan net.Addr, 2)
	ctx, terminate := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		ended <- agent.Run(ctx, agent.Config{
			Session: wire.Session{
				Version: wire.Version, ID: "b7e1", Control: wire.DefaultControl,
				Key:      "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
				Ports:    []wire.Port{{Number: 8080, Probes: []string{wire.ProbeHTTP}}},
				Workload: "Deployment shop/api", Holder: "ann@laptop",
				Since: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC),
				Away:  wire.DefaultAway,
			},
			Pod: "api-5d4f",
			Listen: func(_ context.Context, address string) (net.Listener, error) {
				l, err := net.Listen("tcp", "127.0.0.1:0") // not address, so that it runs anywhere
				if err == nil {
					addresses <- l.Addr()
				}
				return l, err
			},
		})
	}()
	<-addresses // of the stream
	request, err := http.NewRequest("GET", "http://"+(<-addresses).String()+"/healthz", nil)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("User-Agent", "kube-probe/1.37")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	response.Body.Close()
	fmt.Println(response.Status)
	terminate()
	fmt.Println(<-ended)
	// Output:
	// 200 OK
	// <nil>
}
