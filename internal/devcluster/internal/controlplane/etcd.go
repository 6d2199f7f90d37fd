package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/pharos-dev/pharos/internal/devcluster/internal/state"
)

// startEtcd starts etcd on free loopback ports and waits until it serves. Only who has the cluster's own key may
// connect, since whoever reads etcd reads every Secret.
func startEtcd(ctx context.Context, folder *state.Folder, keys state.Keys) (*embed.Etcd, error) {
	anyPort := url.URL{Scheme: "https", Host: "127.0.0.1:0"}
	tls := transport.TLSInfo{
		CertFile:       keys.ServerCert,
		KeyFile:        keys.ServerKey,
		TrustedCAFile:  keys.CA,
		ClientCertAuth: true,
	}
	c := embed.NewConfig()
	c.Dir = folder.Path("etcd")
	c.LogOutputs = []string{folder.Path("etcd.log")}
	c.LogLevel = "warn"
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{anyPort}, []url.URL{anyPort}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{anyPort}, []url.URL{anyPort}
	c.ClientTLSInfo, c.PeerTLSInfo = tls, tls
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	// What is lost with a machine that loses its power is no loss here, and a sync costs more than all else.
	c.UnsafeNoFsync = true

	etcd, err := embed.StartEtcd(c)
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, nil
	case <-etcd.Server.StopNotify():
		err = errors.New("it stopped before it was ready")
	case err = <-etcd.Err():
	case <-ctx.Done():
		err = ctx.Err()
	}
	etcd.Close()
	return nil, fmt.Errorf("start etcd: %w", err)
}

// etcdAddress is where the API server finds etcd: the port is known only now.
func etcdAddress(etcd *embed.Etcd) string {
	return "https://" + etcd.Clients[0].Addr().String()
}
