package controlplane

import (
	"context"
	"fmt"
	"net"
	"strconv"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/rest"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"github.com/pharos-dev/pharos/internal/devcluster/internal/state"
)

// newAPIServer configures kube-apiserver to serve on the listener. The returned function runs it.
func newAPIServer(c Config, keys state.Keys, etcd string, listener net.Listener) (func(context.Context) error, error) {
	folder := c.Folder
	tokens, err := folder.TokenFile()
	if err != nil {
		return nil, err
	}
	policy, err := writeAuditPolicy(folder)
	if err != nil {
		return nil, err
	}
	o := options.NewServerRunOptions()
	err = parse("kube-apiserver", o.Flags(), append(c.nodeFlags(keys),
		"--etcd-servers="+etcd,
		"--etcd-cafile="+keys.CA,
		"--etcd-certfile="+keys.ServerCert,
		"--etcd-keyfile="+keys.ServerKey,
		"--bind-address=127.0.0.1",
		"--secure-port="+strconv.Itoa(listener.Addr().(*net.TCPAddr).Port),
		"--tls-cert-file="+keys.ServerCert,
		"--tls-private-key-file="+keys.ServerKey,
		"--token-auth-file="+tokens,
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-signing-key-file="+keys.ServiceAccountKey,
		"--service-account-key-file="+keys.ServiceAccountKey,
		"--service-cluster-ip-range="+state.ServiceRange,
		"--allow-privileged=true",
		"--profiling=false",
		"--audit-policy-file="+policy,
		"--audit-log-path="+folder.Path(AuditLogName),
		// The line that says what was asked is in the file before the request is handled.
		"--audit-log-mode=blocking",
		// In megabytes: a reader should not have to follow a rotation.
		"--audit-log-maxsize=100000",
	)...)
	if err != nil {
		return nil, err
	}
	// Handed over open, so that no other process can take the port between choosing and listening.
	o.SecureServing.Listener = listener

	return func(ctx context.Context) error {
		if err := o.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
			return err
		}
		rest.SetDefaultWarningHandler(rest.NoWarnings{})
		completed, err := o.Complete(ctx)
		if err != nil {
			return fmt.Errorf("configure: %w", err)
		}
		if errs := completed.Validate(); len(errs) > 0 {
			return fmt.Errorf("configure: %w", utilerrors.NewAggregate(errs))
		}
		return apiserver.Run(ctx, completed)
	}, nil
}

// nodeFlags are the API server's flags that depend on whether pods really run.
func (c Config) nodeFlags(keys state.Keys) []string {
	if c.Node == nil {
		// A loopback address may not be an endpoint of the Service "kubernetes", and no pod would reach it.
		return []string{"--endpoint-reconciler-type=none"}
	}
	return []string{
		"--advertise-address=" + c.Node.Address,
		// Without, exec and logs would look for the node's name.
		"--kubelet-preferred-address-types=InternalIP",
		"--kubelet-certificate-authority=" + keys.CA,
		"--kubelet-client-certificate=" + keys.ServerCert,
		"--kubelet-client-key=" + keys.ServerKey,
	}
}
