package devtest

import (
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
)

// Registry starts an empty container registry in this process, on a free loopback port with plain HTTP, and returns its
// host:port, which begins an image reference. It ends with the test.
func Registry(t testing.TB, options ...registry.Option) string {
	t.Helper()
	quiet := registry.Logger(log.New(io.Discard, "", 0))
	server := httptest.NewServer(registry.New(append([]registry.Option{quiet}, options...)...))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}
