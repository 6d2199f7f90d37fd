package controlplane

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/rest"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"github.com/pharos-dev/pharos/internal/devcluster/internal/state"
)

// apiServerName is what errors call it.
const apiServerName = "kube-apiserver"

// APIServer is a kube-apiserver.
type APIServer struct {
	// Folder holds the cluster's state.
	Folder *state.Folder
	// Etcd is its etcd's address.
	Etcd string
	// Listener is where it serves.
	Listener net.Listener
	// Address is its address for pods, if there is a real node.
	Address string
}

// ServeAPI runs an API server until it fails, as all that this process does. LogFile receives what Kubernetes' own logger
// writes.
func ServeAPI(ctx context.Context, s APIServer, logFile io.Writer) error {
	if err := setUpLogging(logFile); err != nil {
		return err
	}
	return s.run(ctx)
}

func (s APIServer) run(ctx context.Context) error {
	o, err := s.options()
	if err != nil {
		return err
	}
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
}

func (s APIServer) options() (*options.ServerRunOptions, error) {
	folder := s.Folder
	keys, err := folder.Keys()
	if err != nil {
		return nil, err
	}
	tokens, err := folder.TokenFile()
	if err != nil {
		return nil, err
	}
	policy, err := writeAuditPolicy(folder)
	if err != nil {
		return nil, err
	}
	o := options.NewServerRunOptions()
	err = parse(apiServerName, o.Flags(), append(s.nodeFlags(keys),
		"--etcd-servers="+s.Etcd,
		"--etcd-cafile="+keys.CA,
		"--etcd-certfile="+keys.ServerCert,
		"--etcd-keyfile="+keys.ServerKey,
		"--bind-address=127.0.0.1",
		"--secure-port="+strconv.Itoa(s.Listener.Addr().(*net.TCPAddr).Port),
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
	o.SecureServing.Listener = s.Listener
	return o, nil
}

// nodeFlags are the flags that depend on whether pods really run.
func (s APIServer) nodeFlags(keys state.Keys) []string {
	if s.Address == "" {
		// A loopback address may not be an endpoint of the Service "kubernetes", and no pod would reach it.
		return []string{"--endpoint-reconciler-type=none"}
	}
	return []string{
		"--advertise-address=" + s.Address,
		// Without, exec and logs would look for the node's name.
		"--kubelet-preferred-address-types=InternalIP",
		"--kubelet-certificate-authority=" + keys.CA,
		"--kubelet-client-certificate=" + keys.ServerCert,
		"--kubelet-client-key=" + keys.ServerKey,
	}
}
