package relay

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
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
