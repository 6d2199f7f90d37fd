// Command peer is the registry of the CNCF (github.com/distribution/distribution),
// as its own command runs it, without the storage of clouds. It keeps what it is
// given in a folder, says where it listens, and runs until it is killed:
//
//	peer DIR
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string) error {
	config := &configuration.Configuration{Storage: configuration.Storage{
		"filesystem": configuration.Parameters{"rootdirectory": dir},
		"delete":     configuration.Parameters{"enabled": true},
	}}
	config.HTTP.Secret = "of nobody"
	config.Log.Level = "error"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	app := handlers.NewApp(context.Background(), config)
	fmt.Println(l.Addr())
	return http.Serve(l, app)
}
