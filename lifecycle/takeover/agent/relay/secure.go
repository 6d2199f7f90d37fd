package relay

import (
	"bufio"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"sync"
)

// errKey is the error of an end whose certificate has a key of another kind.
var errKey = errors.New("the other end has no ed25519 key")

// Keys says who the two ends are. A certificate is only what TLS carries a key in: nothing in it counts but that.
type Keys struct {
	Own ed25519.PrivateKey
	// Known returns an error unless the key is that of the other end, who has proven that it has it.
	Known func(ed25519.PublicKey) error
}

func (k Keys) config() (*tls.Config, error) {
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, k.Own.Public(), k.Own)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for the stream's key: %w", err)
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: k.Own}},
		ClientAuth:   tls.RequireAnyClientCert,
		// There is no authority and no name, but a key: VerifyConnection is always called.
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 {
				return errKey
			}
			if _, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey); !ok {
				return errKey
			}
			return nil // whose key it is counts when the handshake has proven that the other end has it
		},
		SessionTicketsDisabled:      true,
		DynamicRecordSizingDisabled: true, // they go out together
	}, nil
}

const (
	// readBuffer is what is read at once: TLS itself reads every record on its own.
	readBuffer = 128 << 10
	// piece is what is written at once, if there is as much.
	piece = 128 << 10
)

// batch is a connection under TLS, which writes every record on its own: they are held until there is a piece, or flush.
type batch struct {
	net.Conn
	reader *bufio.Reader

	mu   sync.Mutex
	hold bool // after the handshake
	held []byte
}

func newBatch(conn net.Conn) *batch {
	return &batch{Conn: conn, reader: bufio.NewReaderSize(conn, readBuffer)}
}

func (b *batch) Read(p []byte) (int, error) { return b.reader.Read(p) }

func (b *batch) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.hold {
		return b.Conn.Write(p)
	}
	for rest := p; len(rest) > 0; {
		n := min(len(rest), piece-len(b.held))
		b.held = append(b.held, rest[:n]...)
		rest = rest[n:]
		if len(b.held) == piece {
			if err := b.send(); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

// begin has records held from now on.
func (b *batch) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hold = true
}

func (b *batch) flush() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.held) == 0 {
		return nil
	}
	return b.send()
}

func (b *batch) send() error {
	_, err := b.Conn.Write(b.held)
	b.held = b.held[:0]
	return err
}
