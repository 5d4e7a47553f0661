package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// bufferSize is that of the buffers on the way, as ours has them.
const bufferSize = 32 << 10

// startHub serves people over TLS and forwards their requests to the API server, with
// its own credentials. It checks a token and does nothing else that a hub does.
func startHub(ctx context.Context, c config) (answer, error) {
	certificate, authority, err := newCertificate()
	if err != nil {
		return answer{}, err
	}
	a := answer{Token: rand.Text(), CA: string(authority)}
	tlsConfig := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	var through dial
	if c.library == remoteDialer {
		a.Tunnel, through, err = remoteDialerHub(tlsConfig.Clone(), a.Token)
	} else {
		a.Tunnel, through, err = konnectivityHub(ctx, tlsConfig.Clone(), c.library)
	}
	if err != nil {
		return answer{}, err
	}
	proxy, err := reverseProxy(c.kubeconfig, through)
	if err != nil {
		return answer{}, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return answer{}, err
	}
	server := &http.Server{TLSConfig: tlsConfig, ReadHeaderTimeout: 10 * time.Second, Handler: only(a.Token, proxy)}
	go func() { _ = server.ServeTLS(listener, "", "") }() // ends with the process
	a.URL = "https://" + listener.Addr().String()
	return a, nil
}

// only admits requests with the token.
func only(token string, next http.Handler) http.Handler {
	want := []byte("Bearer " + token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			http.Error(w, "the token is another one", http.StatusUnauthorized)
			return
		}
		r.Header.Del("Authorization")
		next.ServeHTTP(w, r)
	})
}

// reverseProxy goes to the API server by HTTP/1.1 over kept connections: for
// large bodies HTTP/2 costs more.
func reverseProxy(kubeconfig string, through dial) (http.Handler, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	toServer, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	if toServer == nil {
		return nil, errors.New("the kubeconfig has no TLS")
	}
	toServer.NextProtos = []string{"http/1.1"}
	transport, err := rest.HTTPWrappersForConfig(config, &http.Transport{
		DialContext: through, TLSClientConfig: toServer, MaxIdleConnsPerHost: 64,
		ReadBufferSize: bufferSize, WriteBufferSize: bufferSize, DisableCompression: true,
	})
	if err != nil {
		return nil, err
	}
	return &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: transport, FlushInterval: -1, BufferPool: &buffers{},
	}, nil
}

// buffers are used again and again.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if kept, ok := b.pool.Get().(*[bufferSize]byte); ok {
		return kept[:]
	}
	return make([]byte, bufferSize)
}

func (b *buffers) Put(p []byte) { b.pool.Put((*[bufferSize]byte)(p)) }

// newCertificate makes one for 127.0.0.1 that signs itself.
func newCertificate() (_ tls.Certificate, authority []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "peer"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	authority = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, authority, nil
}

// trusting is how an agent connects to the hub.
func trusting(file string) (*tls.Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, errors.New("--ca holds no certificate")
	}
	return &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}, nil
}
