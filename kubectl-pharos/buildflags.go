package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// buildFlags are what BuildKit has from the caller, spelled as docker build and
// buildctl spell it.
type buildFlags struct {
	secrets []string
	ssh     []string
	tlsDir  string
	jobs    int
}

func (b *buildFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&b.secrets, "secret", nil, "A secret that Dockerfiles mount: id=ID,src=FILE or id=ID,env=NAME; may be repeated")
	f.StringArrayVar(&b.ssh, "ssh", nil, "An SSH agent that Dockerfiles mount: default, which is SSH_AUTH_SOCK, or ID=SOCKET; may be repeated")
	f.IntVar(&b.jobs, "builds", 4, "How many images are built at once. Fewer need less memory")
	f.StringVar(&b.tlsDir, "buildkit-tlsdir", "", "A folder with ca.pem and, if BuildKit asks for them, cert.pem and key.pem, for a BuildKit at a tcp address")
	_ = cmd.MarkFlagDirname("buildkit-tlsdir")
}

// into fills in the options. Files of secrets are looked at, and read only when a
// build needs them.
func (b *buildFlags) into(o *standard.Options) error {
	if b.jobs < 1 {
		return fmt.Errorf("--builds is %d, and must be at least 1", b.jobs)
	}
	o.Jobs = b.jobs
	o.Secrets, o.SSH = map[string]func(context.Context) ([]byte, error){}, map[string]string{}
	for _, flag := range b.secrets {
		id, read, err := parseSecret(flag, os.LookupEnv)
		if err == nil && o.Secrets[id] != nil {
			err = fmt.Errorf("there is another one with the id %s", id)
		}
		if err != nil {
			return fmt.Errorf("--secret: %w", err) // what else was written there may be the secret itself
		}
		o.Secrets[id] = read
	}
	for _, flag := range b.ssh {
		id, socket, given := strings.Cut(flag, "=")
		if !given {
			socket = os.Getenv("SSH_AUTH_SOCK")
		}
		if id == "" || socket == "" || strings.Contains(socket, ",") {
			return fmt.Errorf("--ssh is %q, and must be ID=SOCKET, the socket of an agent, or default where SSH_AUTH_SOCK is set", flag)
		}
		// What cannot be looked at may still be connected to.
		if info, err := os.Stat(socket); errors.Is(err, fs.ErrNotExist) || err == nil && (info.Mode().IsRegular() || info.IsDir()) {
			if err == nil {
				err = fmt.Errorf("%s is no socket", socket)
			}
			return fmt.Errorf("--ssh: %s: %w: it must be the socket of an agent, which ssh-add gives keys to", id, err)
		}
		o.SSH[id] = socket
	}
	if b.tlsDir == "" {
		return nil
	}
	config, err := loadTLS(b.tlsDir)
	if err != nil {
		return fmt.Errorf("--buildkit-tlsdir: %w", err)
	}
	o.BuildKitTLS = config
	return nil
}

// parseSecret reads id=ID,src=FILE or id=ID,env=NAME. Without either, the
// variable of the id's name is taken.
func parseSecret(flag string, lookup func(string) (string, bool)) (id string, read func(context.Context) ([]byte, error), err error) {
	var file, variable string
	for part := range strings.SplitSeq(flag, ",") {
		key, value, ok := strings.Cut(part, "=")
		if !ok || value == "" {
			return "", nil, errors.New("must be id=ID,src=FILE or id=ID,env=NAME")
		}
		switch key {
		case "id":
			id = value
		case "src", "source":
			file = value
		case "env":
			variable = value
		case "type":
			if value != "file" && value != "env" {
				return "", nil, errors.New("type is file or env")
			}
		default:
			return "", nil, fmt.Errorf("%s is not known: it is id=ID,src=FILE or id=ID,env=NAME", key)
		}
	}
	switch {
	case id == "":
		return "", nil, errors.New("has no id: it is id=ID,src=FILE or id=ID,env=NAME")
	case file != "" && variable != "":
		return "", nil, fmt.Errorf("%s has both src and env: name one of them", id)
	case file != "":
		if _, err := os.Stat(file); err != nil {
			return "", nil, fmt.Errorf("%s: %w", id, err)
		}
		return id, func(context.Context) ([]byte, error) { return os.ReadFile(file) }, nil
	case variable == "":
		variable = id
	}
	value, set := lookup(variable)
	if !set {
		return "", nil, fmt.Errorf("%s: the variable %s is not set", id, variable)
	}
	return id, func(context.Context) ([]byte, error) { return []byte(value), nil }, nil
}

// loadTLS reads a folder as buildctl --tlsdir does.
func loadTLS(dir string) (*tls.Config, error) {
	authority, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	if !config.RootCAs.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s holds no certificate", filepath.Join(dir, "ca.pem"))
	}
	cert, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	if errors.Is(err, os.ErrNotExist) {
		return config, nil
	}
	if err != nil {
		return nil, err
	}
	config.Certificates = []tls.Certificate{cert}
	return config, nil
}
