package agent_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

const (
	notServing = grpc_health_v1.HealthCheckResponse_NOT_SERVING
	serving    = grpc_health_v1.HealthCheckResponse_SERVING
)

// grpcProcess serves a health service that says NOT_SERVING, as no agent does.
func grpcProcess(t *testing.T) (*health.Server, func(uint16) (net.Conn, error)) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	checks := health.NewServer()
	checks.SetServingStatus("", notServing)
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, checks)
	go server.Serve(l)
	t.Cleanup(server.Stop)
	return checks, to(l.Addr().String())
}

// grpcClient returns a client of the agent's port, and how often it has connected.
func (f *fixture) grpcClient(port string, options ...grpc.DialOption) (grpc_health_v1.HealthClient, *atomic.Int64) {
	f.t.Helper()
	var dials atomic.Int64
	conn, err := grpc.NewClient("passthrough:///agent", append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			dials.Add(1)
			return f.dial(port)
		}),
	}, options...)...)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { conn.Close() })
	return grpc_health_v1.NewHealthClient(conn), &dials
}

func check(t *testing.T, c grpc_health_v1.HealthClient, want grpc_health_v1.HealthCheckResponse_ServingStatus) {
	t.Helper()
	response, err := c.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil || response.Status != want {
		t.Errorf("%v, %v", response, err)
	}
}

func grpcPorts() []wire.Port {
	return []wire.Port{{Number: 50051, Probes: []string{wire.ProbeGRPC}}, {Number: 50052}}
}

func TestGRPCProbe(t *testing.T) {
	t.Parallel()
	f := start(t, short, grpcPorts()...)
	defer f.end()
	kubelet, _ := f.grpcClient(":50051", grpc.WithUserAgent("kube-probe/1.37"))
	check(t, kubelet, serving) // and nobody serves
	_, dial := grpcProcess(t)
	w := f.serving(dial)
	w.keep()
	defer w.conn.Close()
	kubelet, _ = f.grpcClient(":50051", grpc.WithUserAgent("kube-probe/1.37"))
	check(t, kubelet, serving)
	kubelet, _ = f.grpcClient(":50052", grpc.WithUserAgent("kube-probe/1.37"))
	check(t, kubelet, notServing) // no probe is declared there
}

func TestGRPCGoesToTheProcess(t *testing.T) {
	t.Parallel()
	f := start(t, short, grpcPorts()...)
	defer f.end()
	checks, dial := grpcProcess(t)
	checks.SetServingStatus("big", notServing)
	w := f.serving(dial)
	w.keep()
	defer w.conn.Close()
	for _, port := range []string{":50051", ":50052"} {
		client, dials := f.grpcClient(port)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				for range 10 {
					check(t, client, notServing)
				}
				// More than a window, so that flow control has to work both ways.
				_, err := client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: strings.Repeat("x", 200<<10)})
				if status.Code(err) != codes.NotFound {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := dials.Load(); n != 1 {
			t.Errorf("%s: connected %d times", port, n)
		}
	}
}

func TestGRPCUnserved(t *testing.T) {
	t.Parallel()
	f := start(t, func(s *wire.Session) {
		short(s)
		s.Away = wire.Duration(15 * time.Second)
	}, grpcPorts()...)
	defer f.end()
	for _, port := range []string{":50051", ":50052"} {
		client, _ := f.grpcClient(port)
		for range 3 {
			_, err := client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
			if status.Code(err) != codes.Unavailable || !strings.Contains(status.Convert(err).Message(), workload) {
				t.Errorf("%s: %v", port, err)
			}
		}
	}
}

func TestHTTP2Unserved(t *testing.T) {
	t.Parallel()
	f := start(t, func(s *wire.Session) {
		short(s)
		s.Away = wire.Duration(15 * time.Second)
	}, grpcPorts()...)
	defer f.end()
	for _, port := range []string{":50051", ":50052"} {
		client := f.client(port)
		protocols := new(http.Protocols)
		protocols.SetUnencryptedHTTP2(true)
		client.Transport.(*http.Transport).Protocols = protocols
		response, err := client.Post("http://api/", "text/plain", strings.NewReader("a body"))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != 503 || response.ProtoMajor != 2 {
			t.Errorf("%s: %s %s", port, response.Proto, response.Status)
		}
	}
}

// Streams that are open when the agent leaves go on, and the next call is made on
// another connection.
func TestGRPCDrain(t *testing.T) {
	t.Parallel()
	for _, port := range []string{":50051", ":50052"} {
		f := start(t, func(s *wire.Session) { s.Drain = wire.Duration(2 * time.Second) }, grpcPorts()...)
		checks, dial := grpcProcess(t)
		w := f.serving(dial)
		w.keep()
		client, dials := f.grpcClient(port)
		ctx, cancel := context.WithCancel(t.Context())
		watch, err := client.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if first, err := watch.Recv(); err != nil || first.Status != notServing {
			t.Fatal(first, err)
		}
		f.stop()
		<-w.draining
		for dials.Load() == 1 {
			check(t, client, notServing)
		}
		checks.SetServingStatus("", serving)
		if next, err := watch.Recv(); err != nil || next.Status != serving {
			t.Error(next, err)
		}
		cancel()
		if err := <-f.ended; err != nil {
			t.Error(err)
		}
	}
}
