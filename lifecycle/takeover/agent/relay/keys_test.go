package relay_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/relay"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// certificate is one for a key, as any program can make it.
func certificate(t testing.TB, key interface{ Public() ed25519.PublicKey }, signer any) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: signer}
}

type private struct{ ed25519.PrivateKey }

func (p private) Public() ed25519.PublicKey { return p.PrivateKey.Public().(ed25519.PublicKey) }

// Whoever is not known gets no stream, at either end.
func TestOnlyKnownKeys(t *testing.T) {
	t.Parallel()
	unknown := errors.New("unknown")
	for _, end := range []string{"agent", "workstation"} {
		a, b := tcpPair(t)
		agent, workstation := anyone(), anyone()
		if end == "agent" {
			agent.Known = func(ed25519.PublicKey) error { return unknown }
		} else {
			workstation.Known = func(ed25519.PublicKey) error { return unknown }
		}
		accepted := make(chan error, 1)
		go func() {
			defer a.Close()
			s, err := relay.Accept(a, agent)
			if err == nil { // the workstation has proven its key, and goes
				for r := range s.Requests {
					t.Errorf("it is asked for %s", r.Name)
				}
				err = s.Wait()
				s.Close()
			}
			accepted <- err
		}()
		s, err := relay.Dial(b, workstation)
		if end == "workstation" && !errors.Is(err, unknown) {
			t.Errorf("the workstation dialled: %v", err)
		}
		if err == nil {
			if ok, _, err := s.Ask(wire.RequestHello, nil); ok || err == nil {
				t.Errorf("the agent answered: %v", err)
			}
			s.Close()
		}
		b.Close()
		if err := <-accepted; err == nil || end == "agent" && !errors.Is(err, unknown) {
			t.Errorf("the %s refuses: %v", end, err)
		}
	}
}

// A certificate is no proof of a key: whoever shows one has to have its key, and to show one.
func TestKeysAreProven(t *testing.T) {
	t.Parallel()
	known, own := anyone().Own, anyone().Own
	stolen := certificate(t, private{known}, known)
	stolen.PrivateKey = own
	for name, certificates := range map[string][]tls.Certificate{"stolen": {stolen}, "none": nil} {
		near, far := tcpPair(t)
		go func() {
			conn := tls.Client(far, &tls.Config{InsecureSkipVerify: true, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				if len(certificates) == 0 {
					return &tls.Certificate{}, nil
				}
				return &certificates[0], nil
			}})
			conn.Handshake()
			conn.Read(make([]byte, 1))
			far.Close()
		}()
		s, err := relay.Accept(near, relay.Keys{Own: anyone().Own, Known: func(key ed25519.PublicKey) error {
			if !key.Equal(known.Public()) {
				return errors.New("not the key")
			}
			return nil
		}})
		if err == nil {
			t.Errorf("%s: accepted", name)
			s.Close()
		}
		near.Close()
	}
}

// Whose key it is, is asked only of a key that the other end has: else a key that it only names could be taken over for good.
func TestKnownIsAskedOfAProvenKey(t *testing.T) {
	t.Parallel()
	named, own := anyone().Own, anyone().Own
	stolen := certificate(t, private{named}, named)
	stolen.PrivateKey = own
	near, far := tcpPair(t)
	go func() {
		_ = tls.Server(far, &tls.Config{ClientAuth: tls.RequireAnyClientCert, Certificates: []tls.Certificate{stolen}}).Handshake()
	}()
	_, err := relay.Dial(near, relay.Keys{Own: own, Known: func(ed25519.PublicKey) error {
		t.Error("it is asked")
		return nil
	}})
	if err == nil {
		t.Error("the other end is let in")
	}
}
