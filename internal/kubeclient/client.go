// Package kubeclient makes small API clients and judges the errors that they
// return.
package kubeclient

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

const protobuf = "application/vnd.kubernetes.protobuf"

// requestTimeout bounds one try of one request where the configuration does
// not: a server that takes it and never answers must not hold us for ever. None
// of the requests is a watch.
const requestTimeout = 15 * time.Second

// New returns a client of one API group and version. It knows the types that
// add registers and no others: the generated clients register those of every
// API group when a program starts. The configuration is not changed; where it
// sets no rate limit there is none, as its few calls should not wait for one.
func New(config *rest.Config, gv schema.GroupVersion, add func(*runtime.Scheme) error) (*rest.RESTClient, error) {
	scheme := runtime.NewScheme()
	if err := add(scheme); err != nil {
		return nil, err
	}
	// Objects of which only the metadata is asked for.
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		return nil, err
	}
	// How the server reports errors, in every group.
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})

	c := rest.CopyConfig(config)
	c.GroupVersion = &gv
	c.APIPath = "/apis"
	if gv.Group == "" {
		c.APIPath = "/api"
	}
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c.AcceptContentTypes = protobuf + ",application/json"
	c.ContentType = protobuf
	if c.QPS == 0 && c.RateLimiter == nil {
		c.QPS = -1
	}
	if c.Timeout == 0 {
		c.Timeout = requestTimeout
	}
	if c.UserAgent == "" {
		c.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	return rest.RESTClientFor(c)
}

// MetadataOnly is the Accept header of a request for an object's metadata.
const (
	MetadataOnly     = protobuf + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	MetadataOnlyList = protobuf + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)
