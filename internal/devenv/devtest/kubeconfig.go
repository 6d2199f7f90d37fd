package devtest

import (
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig writes a kubeconfig file (0600, in the test's own folder) that makes a program behave as the configuration
// does: with its address, certificate authority, token or client certificate, and impersonation. Its only and current
// context is "test".
func Kubeconfig(t testing.TB, config *rest.Config) string {
	t.Helper()
	const name = "test"
	k := clientcmdapi.NewConfig()
	k.CurrentContext = name
	k.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	k.Clusters[name] = &clientcmdapi.Cluster{
		Server:                   config.Host,
		TLSServerName:            config.ServerName,
		InsecureSkipTLSVerify:    config.Insecure,
		CertificateAuthority:     config.CAFile,
		CertificateAuthorityData: config.CAData,
	}
	k.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificate:     config.CertFile,
		ClientCertificateData: config.CertData,
		ClientKey:             config.KeyFile,
		ClientKeyData:         config.KeyData,
		Token:                 config.BearerToken,
		TokenFile:             config.BearerTokenFile,
		Impersonate:           config.Impersonate.UserName,
		ImpersonateUID:        config.Impersonate.UID,
		ImpersonateGroups:     config.Impersonate.Groups,
		ImpersonateUserExtra:  config.Impersonate.Extra,
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*k, path); err != nil {
		t.Fatal(err)
	}
	return path
}
