package state

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// validity is how long certificates of a cluster hold: longer than any cluster here lives.
const validity = 10 * 365 * 24 * time.Hour

// Keys are the paths of a cluster's keys and certificates, all PEM.
type Keys struct {
	// CA is the certificate of the cluster's own authority, which signed Server.
	CA string
	// ServerCert and ServerKey serve on the loopback address and on those of a real node, and identify the parts of the
	// cluster to each other.
	ServerCert, ServerKey string
	// ServiceAccountKey signs the tokens of service accounts.
	ServiceAccountKey string
	// CAData is the content of CA.
	CAData []byte
}

// Keys makes the cluster's keys and certificates the first time and finds them again later.
func (f *Folder) Keys() (Keys, error) {
	k := Keys{
		CA:                f.Path("pki", "ca.crt"),
		ServerCert:        f.Path("pki", "server.crt"),
		ServerKey:         f.Path("pki", "server.key"),
		ServiceAccountKey: f.Path("pki", "service-account.key"),
	}
	fail := func(err error) (Keys, error) { return Keys{}, fmt.Errorf("make the cluster's keys: %w", err) }

	caKey, err := f.key("ca.key")
	if err != nil {
		return fail(err)
	}
	k.CAData, err = f.readOrMake(func() ([]byte, error) {
		ca := template("pharos development cluster")
		ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
		return sign(ca, ca, caKey.Public(), caKey)
	}, "pki", "ca.crt")
	if err != nil {
		return fail(err)
	}
	ca, err := parseCertificate(k.CAData)
	if err != nil {
		return fail(err)
	}
	serverKey, err := f.key("server.key")
	if err != nil {
		return fail(err)
	}
	_, err = f.readOrMake(func() ([]byte, error) {
		server := template("127.0.0.1")
		server.KeyUsage = x509.KeyUsageDigitalSignature
		server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
		server.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(NodeAddress), net.ParseIP(serviceAddress)}
		server.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
		return sign(server, ca, serverKey.Public(), caKey)
	}, "pki", "server.crt")
	if err != nil {
		return fail(err)
	}
	if _, err := f.key("service-account.key"); err != nil {
		return fail(err)
	}
	return k, nil
}

// key finds or makes a private key.
func (f *Folder) key(name string) (crypto.Signer, error) {
	b, err := f.readOrMake(func() ([]byte, error) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		der, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			return nil, err
		}
		return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
	}, "pki", name)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(b)
	if block == nil {
		return nil, fmt.Errorf("%s: not PEM", f.Path("pki", name))
	}
	return x509.ParseECPrivateKey(block.Bytes)
}

func template(commonName string) *x509.Certificate {
	// Nothing but uniqueness matters here, and 127 bits are always positive.
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: commonName},
		// An hour earlier, for clocks that are set back.
		NotBefore: now.Add(-time.Hour),
		NotAfter:  now.Add(validity),
	}
}

func sign(cert, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, public, key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

func parseCertificate(b []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(b)
	if block == nil {
		return nil, errors.New("the certificate is not PEM")
	}
	return x509.ParseCertificate(block.Bytes)
}
