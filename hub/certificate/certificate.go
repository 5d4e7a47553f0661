package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// authorityLife is long because agents pin the authority.
	authorityLife = 10 * 365 * 24 * time.Hour
	// leafLife is below the 398 days that browsers accept at most.
	leafLife = 90 * 24 * time.Hour
	// leafRenewBefore is how long before its expiry a running hub replaces its
	// certificate.
	leafRenewBefore = 30 * 24 * time.Hour
	// reloadEvery is how often the files of --tls-cert are checked, so that a
	// renewed certificate needs no restart.
	reloadEvery = time.Minute
)

// AuthorityFile, in the data folder, is for clients; authorityKeyFile must stay
// private.
const (
	AuthorityFile    = "ca.pem"
	authorityKeyFile = "ca-key.pem"
)

// authority is the hub's own small certificate authority, for --dev-ca.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

// openAuthority reads the authority of a data folder and creates it when there
// is none. The key is written first: after a kill between the two files both
// are created again, and no client has seen the first key yet.
func openAuthority(dir string, now time.Time) (*authority, error) {
	certPEM, err := os.ReadFile(filepath.Join(dir, AuthorityFile))
	if errors.Is(err, os.ErrNotExist) {
		return makeAuthority(dir, now)
	}
	if err != nil {
		return nil, fmt.Errorf("read the certificate authority: %w", err)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, AuthorityFile), filepath.Join(dir, authorityKeyFile))
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "the certificate authority in %s cannot be read: %w; restore %s and %s, or remove both and connect every agent again", dir, err, AuthorityFile, authorityKeyFile)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errcode.New(errcode.Invalid, "the key in %s is not an ECDSA key", filepath.Join(dir, authorityKeyFile))
	}
	certificate, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return nil, fmt.Errorf("parse the certificate authority: %w", err)
	}
	if now.After(certificate.NotAfter) {
		return nil, errcode.New(errcode.Invalid, "the certificate authority in %s ended on %s; remove %s and %s and connect every agent again", dir, certificate.NotAfter.Format(time.DateOnly), AuthorityFile, authorityKeyFile)
	}
	return &authority{certificate, key, certPEM}, nil
}

func makeAuthority(dir string, now time.Time) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "Axle hub " + now.UTC().Format(time.DateOnly)},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse the new certificate authority: %w", err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode the new key: %w", err)
	}
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := atomicfile.Write(filepath.Join(dir, authorityKeyFile), keyPEM, 0o600); err != nil {
		return nil, err
	}
	if err := atomicfile.Write(filepath.Join(dir, AuthorityFile), certPEM, 0o644); err != nil {
		return nil, err
	}
	return &authority{certificate, key, certPEM}, nil
}

func serial() *big.Int {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return big.NewInt(time.Now().UnixNano())
	}
	return n
}

// issue creates a server certificate for host names and addresses.
func (a *authority) issue(hosts []string, now time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "axle-hub"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(leafLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("make a server certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse the new server certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

// Source returns the certificate for a connection; see tls.Config.GetCertificate.
type Source func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// Own returns certificates of the hub's own authority for these hosts. It reads
// the authority in a data folder and creates it when there is none.
func Own(dir string, hosts []string, c clock.Clock) (Source, error) {
	a, err := openAuthority(dir, c.Now())
	if err != nil {
		return nil, err
	}
	return checked((&issuer{authority: a, hosts: hosts, clock: c}).get)
}

// Files returns the certificate in a file with its key in another, also after they
// were replaced.
func Files(cert, key string, c clock.Clock) (Source, error) {
	return checked((&files{cert: cert, key: key, clock: c}).get)
}

// checked reports an unusable pair now, not at the first client.
func checked(s Source) (Source, error) {
	_, err := s(nil)
	return s, err
}

// Expiry returns when a configuration's certificate expires, in seconds since 1970 UTC;
// 0 without TLS.
func Expiry(c *tls.Config) float64 {
	if c == nil {
		return 0
	}
	pair, err := c.GetCertificate(nil)
	if err != nil || pair.Leaf == nil {
		return 0
	}
	return float64(pair.Leaf.NotAfter.Unix())
}

// issuer provides the hub's own certificate and replaces it before it expires.
type issuer struct {
	authority *authority
	hosts     []string
	clock     clock.Clock

	mu      sync.Mutex
	current *tls.Certificate
}

func (i *issuer) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.clock.Now()
	if i.current == nil || now.After(i.current.Leaf.NotAfter.Add(-leafRenewBefore)) {
		next, err := i.authority.issue(i.hosts, now)
		if err != nil {
			return nil, err
		}
		i.current = next
	}
	return i.current, nil
}

// files provides the certificate from two files and reads them again when they
// changed. When they cannot be read, the last valid pair stays in use.
type files struct {
	cert, key string
	clock     clock.Clock

	mu      sync.Mutex
	looked  time.Time
	changed time.Time
	current *tls.Certificate
}

func (f *files) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock.Now()
	if f.current != nil && now.Sub(f.looked) < reloadEvery {
		return f.current, nil
	}
	f.looked = now
	info, err := os.Stat(f.cert)
	if err == nil && (f.current == nil || !info.ModTime().Equal(f.changed)) {
		var pair tls.Certificate
		if pair, err = tls.LoadX509KeyPair(f.cert, f.key); err == nil {
			f.current, f.changed = &pair, info.ModTime()
		}
	}
	if f.current == nil {
		return nil, errcode.New(errcode.Invalid, "the certificate of --tls-cert and --tls-key cannot be used: %w", err)
	}
	return f.current, nil
}

// Hosts lists the names that the hub knows for itself: every loopback name, its
// host's name, and the given ones.
func Hosts(names ...string) []string {
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	if h, err := os.Hostname(); err == nil {
		names = append(names, h)
	}
	for _, n := range names {
		ip := net.ParseIP(n)
		if n != "" && !slices.Contains(hosts, n) && (ip == nil || !ip.IsUnspecified()) {
			hosts = append(hosts, n)
		}
	}
	return hosts
}
