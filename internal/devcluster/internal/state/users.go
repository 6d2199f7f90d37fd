package state

import (
	"bytes"
	"crypto/rand"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api/v1"
)

// ContextName is the name of the only context in each kubeconfig.
const ContextName = "pharos-devcluster"

// User is someone whom the API server knows by a token. All of them may do everything: what restricted users may do
// is tested with service accounts.
type User struct {
	// Name is the user's name to the API server, and File the name of the user's kubeconfig in the folder.
	Name, File string
}

// The cluster's users. All but the first are its own parts, whose requests the audit log leaves out.
var (
	Admin       = User{"devcluster-admin", "kubeconfig"}
	Controllers = User{"system:kube-controller-manager", "controllers.kubeconfig"}
	Scheduler   = User{"system:kube-scheduler", "scheduler.kubeconfig"}
	HollowNode  = User{"devcluster-hollow-node", "hollow-node.kubeconfig"}
	// Those of a real node.
	Kubelet = User{"system:node:" + NodeName, "kubelet.kubeconfig"}
	Proxy   = User{"system:kube-proxy", "kube-proxy.kubeconfig"}
	DNS     = User{"devcluster-dns", "dns.kubeconfig"}
	// ArgoCD is whom an Argo CD beside the cluster is.
	ArgoCD = User{"devcluster-argocd", "argocd.kubeconfig"}
	// Starter prepares and checks the cluster.
	Starter = User{"devcluster-starter", "starter.kubeconfig"}
)

// Users lists all of the cluster's users.
var Users = []User{Admin, Controllers, Scheduler, HollowNode, Kubelet, Proxy, DNS, ArgoCD, Starter}

// TokenFile makes the token file of the API server (--token-auth-file) the first time, and returns its path.
func (f *Folder) TokenFile() (string, error) {
	if _, err := f.tokens(); err != nil {
		return "", err
	}
	return f.Path("tokens.csv"), nil
}

// tokens returns the token of each user by name.
func (f *Folder) tokens() (map[string]string, error) {
	b, err := f.readOrMake(func() ([]byte, error) {
		var buf bytes.Buffer
		w := csv.NewWriter(&buf)
		for _, u := range Users {
			// Token, name, UID, groups. The group may do everything.
			if err := w.Write([]string{rand.Text(), u.Name, u.Name, "system:masters"}); err != nil {
				return nil, err
			}
		}
		w.Flush()
		return buf.Bytes(), w.Error()
	}, "tokens.csv")
	if err != nil {
		return nil, fmt.Errorf("make the users' tokens: %w", err)
	}
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Path("tokens.csv"), err)
	}
	tokens := map[string]string{}
	for _, row := range rows {
		if len(row) < 2 {
			return nil, fmt.Errorf("read %s: a row with fewer than two fields", f.Path("tokens.csv"))
		}
		tokens[row[1]] = row[0]
	}
	return tokens, nil
}

// Kubeconfigs writes the kubeconfig of every user for the server's address, such as "https://127.0.0.1:23456".
func (f *Folder) Kubeconfigs(server string, ca []byte) error {
	tokens, err := f.tokens()
	if err != nil {
		return err
	}
	for _, u := range Users {
		token, ok := tokens[u.Name]
		if !ok {
			return fmt.Errorf("write the kubeconfig of %s: the user has no token in %s", u.Name, f.Path("tokens.csv"))
		}
		if err := f.writeFile(kubeconfig(server, ca, u.Name, token), u.File); err != nil {
			return fmt.Errorf("write the kubeconfig of %s: %w", u.Name, err)
		}
	}
	return nil
}

// kubeconfig is JSON, which is YAML.
func kubeconfig(server string, ca []byte, user, token string) []byte {
	b, err := json.MarshalIndent(clientcmdapi.Config{
		Kind:           "Config",
		APIVersion:     "v1",
		CurrentContext: ContextName,
		Contexts: []clientcmdapi.NamedContext{
			{Name: ContextName, Context: clientcmdapi.Context{Cluster: ContextName, AuthInfo: user}},
		},
		Clusters: []clientcmdapi.NamedCluster{
			{Name: ContextName, Cluster: clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}},
		},
		AuthInfos: []clientcmdapi.NamedAuthInfo{
			{Name: user, AuthInfo: clientcmdapi.AuthInfo{Token: token}},
		},
	}, "", "  ")
	if err != nil {
		// Strings and bytes always encode.
		panic(err)
	}
	return append(b, '\n')
}

// LogFile opens a log of the folder for appending.
func (f *Folder) LogFile(name string) (*os.File, error) {
	return os.OpenFile(f.Path(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}
