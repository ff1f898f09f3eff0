package ingress

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"
)

// Authority signs the certificates of the controllers of a lab. It is made when the first one
// starts, and its key is nowhere but in memory.
type Authority struct {
	key  *ecdsa.PrivateKey
	root *x509.Certificate

	mu     sync.Mutex
	serial int64
	signed map[string]*tls.Certificate // by name
}

// lifetime is that of all certificates: longer than any lab's.
const lifetime = 10 * 365 * 24 * time.Hour

// NewAuthority makes an authority with a key of its own.
func NewAuthority(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("certificate authority: %w", err)
	}
	a := &Authority{key: key, serial: 1, signed: map[string]*tls.Certificate{}}
	t := template(1, pkix.Name{CommonName: name})
	t.IsCA, t.BasicConstraintsValid, t.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err == nil {
		a.root, err = x509.ParseCertificate(der)
	}
	if err != nil {
		return nil, fmt.Errorf("certificate authority: %w", err)
	}
	return a, nil
}

func template(serial int64, subject pkix.Name) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: subject, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(lifetime)}
}

// PEM is the certificate of the authority, for those who trust it.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.root.Raw})
}

// Pool trusts the authority and nobody else.
func (a *Authority) Pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.root)
	return p
}

// certificate is one for a host or a wildcard, made when it is first needed; for "", one that
// nobody trusts.
func (a *Authority) certificate(name string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.signed[name]; c != nil {
		return c, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a.serial++
	t := template(a.serial, pkix.Name{CommonName: "default certificate"})
	t.KeyUsage, t.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	parent, signer := t, key
	if name != "" {
		parent, signer = a.root, a.key
		t.DNSNames, t.Subject = []string{name}, pkix.Name{Organization: a.root.Subject.Organization}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, key.Public(), signer)
	if err != nil {
		return nil, err
	}
	c := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	a.signed[name] = c
	return c, nil
}

// certificate is that for the host that a client names, if a route has one. Other hosts get one
// that nobody trusts, as with real controllers.
func (x *Controller) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	host := hello.ServerName
	if net.ParseIP(host) != nil {
		host = ""
	}
	name, _ := x.table.Load().Certificate(host)
	return x.Authority.certificate(name)
}
