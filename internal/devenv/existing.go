package devenv

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Existing returns the cluster of the named context, found as kubectl finds it: in the files of KUBECONFIG, or else in
// ~/.kube/config. The current context is never used. A kubeconfig that holds nothing but this context is written to dir,
// since it is what [Cluster.Kubeconfig] hands to other programs; it holds the context's credentials, so dir should
// go when the cluster is no longer used.
func Existing(context, dir string) (*Cluster, error) {
	raw, err := clientcmd.NewDefaultClientConfigLoadingRules().Load()
	if err != nil {
		return nil, fmt.Errorf("use context %q: %w", context, err)
	}
	if _, ok := raw.Contexts[context]; !ok {
		return nil, fmt.Errorf("use context %q: the kubeconfig has no context of this name", context)
	}
	raw.CurrentContext = context
	if err := clientcmdapi.MinifyConfig(raw); err != nil {
		return nil, fmt.Errorf("use context %q: %w", context, err)
	}
	if err := clientcmdapi.FlattenConfig(raw); err != nil {
		return nil, fmt.Errorf("use context %q: %w", context, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("use context %q: %w", context, err)
	}
	// WriteToFile creates the file with mode 0600.
	path := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*raw, path); err != nil {
		return nil, fmt.Errorf("use context %q: %w", context, err)
	}
	config, err := loadConfig(path)
	if err != nil {
		return nil, fmt.Errorf("use context %q: %w", context, err)
	}
	return &Cluster{config: config, kubeconfig: path, context: context}, nil
}
