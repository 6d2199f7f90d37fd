package environment

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// Reader reads what an environment is made of, one object at a time. Errors are the
// API server's, as k8s.io/apimachinery/pkg/api/errors judges them. Implementations
// are safe for concurrent use.
type Reader interface {
	ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error)
	Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
	Service(ctx context.Context, namespace, name string) (*corev1.Service, error)
	Node(ctx context.Context, name string) (*corev1.Node, error)
	// Token asks for a token of a service account: for an audience, of which "" is the
	// API server's, and for at least ten minutes.
	Token(ctx context.Context, namespace, serviceAccount, audience string, lifetime time.Duration) (Token, error)
}

// Token is a service account's.
type Token struct {
	hidden  hidden
	Expires time.Time
}

// NewToken makes a token, for a Reader.
func NewToken(text string, expires time.Time) Token { return Token{hide(text), expires} }

type apiReader struct{ client rest.Interface }

var _ Reader = apiReader{}

// NewReader returns a Reader that asks an API server. Beside what Resolve wants it
// asks for nothing: the rights are get on the named ConfigMaps, Secrets, Services and
// nodes, and create on serviceaccounts/token of the named service account. The
// configuration is not changed.
func NewReader(config *rest.Config) (Reader, error) {
	client, err := kubeclient.New(config, corev1.SchemeGroupVersion, func(s *runtime.Scheme) error {
		s.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.ConfigMap{}, &corev1.Secret{}, &corev1.Service{}, &corev1.Node{})
		s.AddKnownTypes(authenticationv1.SchemeGroupVersion, &authenticationv1.TokenRequest{})
		metav1.AddToGroupVersion(s, authenticationv1.SchemeGroupVersion)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("make a client of the API server: %w", err)
	}
	return apiReader{client}, nil
}

func (r apiReader) ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	return get(ctx, r, "configmaps", namespace, name, &corev1.ConfigMap{})
}

func (r apiReader) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return get(ctx, r, "secrets", namespace, name, &corev1.Secret{})
}

func (r apiReader) Service(ctx context.Context, namespace, name string) (*corev1.Service, error) {
	return get(ctx, r, "services", namespace, name, &corev1.Service{})
}

func (r apiReader) Node(ctx context.Context, name string) (*corev1.Node, error) {
	return get(ctx, r, "nodes", "", name, &corev1.Node{})
}

func (r apiReader) Token(ctx context.Context, namespace, serviceAccount, audience string, lifetime time.Duration) (Token, error) {
	seconds := int64(lifetime / time.Second)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	if audience != "" {
		request.Spec.Audiences = []string{audience}
	}
	answer := &authenticationv1.TokenRequest{}
	err := r.client.Post().Namespace(namespace).Resource("serviceaccounts").Name(serviceAccount).SubResource("token").Body(request).Do(ctx).Into(answer)
	if err != nil {
		return Token{}, err
	}
	return NewToken(answer.Status.Token, answer.Status.ExpirationTimestamp.Time), nil
}

func get[T runtime.Object](ctx context.Context, r apiReader, resource, namespace, name string, into T) (T, error) {
	err := r.client.Get().NamespaceIfScoped(namespace, namespace != "").Resource(resource).Name(name).Do(ctx).Into(into)
	return into, err
}
