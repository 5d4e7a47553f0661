package story

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/axle-cd/axle/test/node"
)

// postgresImage is the trial's, as the chart names it.
const postgresImage = "library/postgres:17.6-alpine"

// haAddress is the third load balancer's: the first hub has the first, the page the second.
const haAddress = "10.89.0.12"

// HAValues are those of the second install, beside the first: no operator, because one
// acts on this cluster already.
const HAValues = `url: https://` + haAddress + `
shape: ha
hub:
  keySecret: {name: axle-key}
  resources: {requests: {cpu: 50m, memory: 128Mi}}
postgres: {trial: true}
tls: {mode: secret, secretName: axle-tls, ca: {secretName: axle-ca}}
service: {type: LoadBalancer}
operator: {enabled: false}
crds: {hook: false}
`

// ha is the namespace of the second install.
const ha = "axle-ha"

func (s *story) installHA(ctx context.Context) error {
	if err := s.node.PushPostgres(ctx, postgresImage); err != nil {
		return err
	}
	for _, args := range [][]string{{"create", "namespace", ha}, {"label", "namespace", ha, "pod-security.kubernetes.io/enforce=restricted"}} {
		if _, err := s.kubectl(ctx, args...); err != nil {
			return err
		}
	}
	if err := s.secrets(ctx); err != nil {
		return err
	}
	values := filepath.Join(s.Dir, "ha.yaml")
	if err := os.WriteFile(values, []byte(HAValues), 0o600); err != nil {
		return err
	}
	_, err := s.axle(ctx, "install", "--kubeconfig", s.node.Cluster.Kubeconfig(), "--namespace", ha, "--registry", node.Registry, "--values", values,
		"--without-mgmt", "--email", "you@example.test", "--name", "ha")
	if err != nil {
		return err
	}
	if _, err := s.axle(ctx, "clusters", "create", "edge-1"); err != nil {
		return err
	}
	return s.hardened(ctx)
}

// secrets makes the key and the certificate of the replicas.
func (s *story) secrets(ctx context.Context) error {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	ca, certificate, private, err := certificates(haAddress, "*.axle-replicas."+ha+".svc")
	if err != nil {
		return err
	}
	dir := filepath.Join(s.Dir, "ha")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, content := range map[string][]byte{"hub.key": []byte("k1 " + hex.EncodeToString(key)), "ca.crt": ca, "tls.crt": certificate, "tls.key": private} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"generic", "axle-key", "--from-file", filepath.Join(dir, "hub.key")},
		{"generic", "axle-ca", "--from-file", filepath.Join(dir, "ca.crt")},
		{"tls", "axle-tls", "--cert", filepath.Join(dir, "tls.crt"), "--key", filepath.Join(dir, "tls.key")},
	} {
		if _, err := s.kubectl(ctx, append([]string{"--namespace", ha, "create", "secret"}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// certificates makes an authority and a certificate for an address and a name, in PEM.
func certificates(address, name string) (ca, certificate, private []byte, err error) {
	authority, failed := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err := errors.Join(failed, err); err != nil {
		return nil, nil, nil, err
	}
	from, to := time.Now().Add(-time.Hour), time.Now().Add(48*time.Hour)
	parent := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "story authority"}, NotBefore: from, NotAfter: to,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: from, NotAfter: to, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSNames: []string{name}, IPAddresses: []net.IP{net.ParseIP(address)}}
	root, failed := x509.CreateCertificate(rand.Reader, parent, parent, authority.Public(), authority)
	signed, err := x509.CreateCertificate(rand.Reader, leaf, parent, key.Public(), authority)
	if err := errors.Join(failed, err); err != nil {
		return nil, nil, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	encode := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	return encode("CERTIFICATE", root), encode("CERTIFICATE", signed), encode("PRIVATE KEY", der), err
}

// killReplica ends one of three replicas at once; the others keep what was declared.
func (s *story) killReplica(ctx context.Context) error {
	if _, err := s.kubectl(ctx, "--namespace", ha, "delete", "pod", "axle-1", "--grace-period", "0", "--force"); err != nil {
		return err
	}
	out, err := s.axle(ctx, "clusters", "get", "edge-1")
	if err != nil {
		return fmt.Errorf("the other replicas do not answer: %w\n%s", err, out)
	}
	return s.eventually(ctx, func() error {
		ready, err := s.object(ctx, ha, "statefulset/axle", "{.status.readyReplicas}/{.status.replicas}")
		if err == nil && ready != "3/3" {
			err = fmt.Errorf("%s replicas are ready", ready)
		}
		return err
	})
}
