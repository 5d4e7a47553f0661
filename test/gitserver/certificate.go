package gitserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"sync/atomic"
	"time"
)

// discard drops net/http's messages about clients that disconnected.
var discard = log.New(io.Discard, "", 0)

// authority vouches for this machine, and for clients.
type authority struct {
	pem     string
	cert    *x509.Certificate
	key     *ecdsa.PrivateKey
	good    tls.Certificate
	old     tls.Certificate
	expired atomic.Bool // show the old one
	clients atomic.Bool // ask clients for a certificate
	extra   []net.IP    // addresses of certificates beside the loopback
}

// newAuthority vouches for the loopback, and for the address of a listener on another one.
func newAuthority(listen string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	t := &x509.Certificate{SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "gitserver authority"},
		NotBefore: now.Add(-72 * time.Hour), NotAfter: now.Add(48 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	a := &authority{pem: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), key: key}
	if host, _, err := net.SplitHostPort(listen); err == nil && net.ParseIP(host) != nil {
		a.extra = []net.IP{net.ParseIP(host)}
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	if a.good, err = a.issue("gitserver", x509.ExtKeyUsageServerAuth, now.Add(-time.Hour), now.Add(48*time.Hour)); err != nil {
		return nil, err
	}
	a.old, err = a.issue("gitserver", x509.ExtKeyUsageServerAuth, now.Add(-48*time.Hour), now.Add(-24*time.Hour))
	return a, err
}

func (a *authority) issue(name string, usage x509.ExtKeyUsage, from, to time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	t := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: from, NotAfter: to,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{usage},
		IPAddresses: append([]net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, a.extra...), DNSNames: []string{"localhost", "*.example.test"}}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, key.Public(), a.key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// config serves the certificate of the moment.
func (a *authority) config() *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{a.good}, ClientCAs: pool, NextProtos: []string{"http/1.1"}}
		if a.expired.Load() {
			c.Certificates[0] = a.old
		}
		if a.clients.Load() {
			c.ClientAuth = tls.RequireAndVerifyClientCert
		}
		return c, nil
	}}
}

// client issues a certificate for a client.
func (a *authority) client() (certificate, key string, err error) {
	c, err := a.issue("client", x509.ExtKeyUsageClientAuth, time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour))
	if err != nil {
		return "", "", err
	}
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		return "", "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), nil
}
