package image_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/pharos-dev/pharos/lifecycle/build/golang"
	pharosregistry "github.com/pharos-dev/pharos/lifecycle/registry"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/image"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

func ExamplePublisher_Publish() {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(new(strings.Builder), "", 0))))
	defer server.Close()
	images, err := pharosregistry.New(pharosregistry.Config{Insecure: true})
	if err != nil {
		log.Fatal(err)
	}
	builder, err := golang.New(golang.Config{Registry: images, Env: os.Environ()})
	if err != nil {
		log.Fatal(err)
	}
	publisher, err := image.New(image.Config{
		Builder: builder, Registry: images,
		Push: strings.TrimPrefix(server.URL, "http://") + "/dev", Pull: "registry.pharos.svc:5000/dev",
	})
	if err != nil {
		log.Fatal(err)
	}
	ref, _, err := publisher.Publish(context.Background(), wire.Session{
		Version: wire.Version, ID: "b7e1", Control: wire.DefaultControl,
		Key:      "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
		Ports:    []wire.Port{{Number: 8080, Probes: []string{wire.ProbeHTTP}}},
		Workload: "Deployment shop/api", Holder: "ann@laptop", Since: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC),
		Away: wire.DefaultAway, Drain: wire.DrainFor(30 * time.Second), Grace: wire.Duration(30 * time.Second),
	}, []string{"linux/amd64"}, "1000")
	if err != nil {
		log.Fatal(err)
	}
	name, _, _ := strings.Cut(ref, "@")
	fmt.Println(name)
	// Output: registry.pharos.svc:5000/dev/pharos-agent
}
