package up

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeapply"
	"github.com/axle-cd/axle/internal/kubehealth"
	"github.com/axle-cd/axle/internal/secreterror"
)

// gitUser is the one user of the Git server.
const gitUser = "git"

// hashed is the name of the Git server's certificate in a folder of authorities: OpenSSL's hash
// of its subject. Git adds such a folder to the file of authorities that GIT_SSL_CAINFO names,
// which counts before a file of its settings.
const hashed = "55c1c4d4.0"

// certificateLife is that of the Git server's certificate; a Secret that is deleted, and an
// axle up after it, make another.
const certificateLife = 10 * 365 * 24 * time.Hour

// makeLogin makes the Secret of the Git server, unless it is there, and returns its version.
// The Secret also decides whose repository is served, because it is created only once.
func (b *builder) makeLogin(ctx context.Context) (string, error) {
	space := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
		"name": namespace, "labels": map[string]any{"app.kubernetes.io/part-of": "axle", "pod-security.kubernetes.io/enforce": "restricted"},
	}}}
	if err := b.create(ctx, space); err != nil {
		return "", err
	}
	have, err := b.live(ctx, gitObject("v1", "Secret"))
	if err != nil {
		return "", err
	}
	if have == nil {
		secret := gitObject("v1", "Secret")
		secret.SetLabels(map[string]string{"app.kubernetes.io/name": gitServer, "app.kubernetes.io/part-of": "axle"})
		certificate, key, err := newCertificate(b.answers.Host())
		if err != nil {
			return "", err
		}
		secret.Object["stringData"] = map[string]any{"username": gitUser, "password": rand.Text(), "repository": b.answers.Name, "tls.crt": certificate, "tls.key": key}
		if err := b.create(ctx, secret); err != nil {
			return "", err
		}
		if have, err = b.live(ctx, secret); err != nil || have == nil {
			return "", errcode.New(errcode.Unavailable, "the Secret %s of the Git server is gone again: run the same command again", gitServer)
		}
	}
	return have.GetResourceVersion(), b.serves(have)
}

// serves refuses the Git server of another fleet.
func (b *builder) serves(secret *unstructured.Unstructured) error {
	if name := decoded(secret, "repository"); name != b.answers.Name {
		return errcode.New(errcode.Conflict, "the Git server of this cluster serves the repository %s of another axle up, and not %s: give --repo for a repository elsewhere, or remove the other fleet with axle down in its folder", name, b.answers.Name)
	}
	return nil
}

// create makes an object, unless it is there.
func (b *builder) create(ctx context.Context, object *unstructured.Unstructured) error {
	resource, err := b.kube.Resource(object)
	if err != nil {
		return err
	}
	_, err = resource.Create(ctx, object, metav1.CreateOptions{FieldManager: "axle-cli"})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return errcode.New(errcode.Unavailable, "create %s: %w", kubeapply.Name(object), secreterror.OfKind("", object.GetKind(), err))
	}
	return nil
}

// newCertificate is one of its own authority, for the address of the Git server and for
// this machine, to which its port is forwarded.
func newCertificate(address string) (certificate, key string, err error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return "", "", errcode.New(errcode.Invalid, "the address of the Git server: %w", err)
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: gitServer}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = append(template.IPAddresses, ip)
	} else {
		template.DNSNames = append(template.DNSNames, host)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return "", "", err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})), nil
}

// decoded is one key of a Secret.
func decoded(secret *unstructured.Unstructured, key string) string {
	encoded, _, _ := unstructured.NestedString(secret.Object, "data", key)
	text, _ := base64.StdEncoding.DecodeString(encoded)
	return string(text)
}

// way is how one run reaches the Git server of the cluster: a port of this machine, and a
// folder with the server's certificate.
type way struct {
	dir  string
	stop context.CancelFunc
}

// close ends the way.
func (b *builder) close() {
	if b.way != nil {
		b.way.stop()
		_ = os.RemoveAll(b.way.dir)
		b.way = nil
	}
}

// openGit opens the way to the Git server, with its login, for git and for the hub.
func (b *builder) openGit(ctx context.Context) error {
	b.close()
	secret, err := b.live(ctx, gitObject("v1", "Secret"))
	if err != nil {
		return err
	}
	if secret == nil {
		return errcode.New(errcode.NotFound, "the Git server of the cluster has no Secret %s: axle up local makes it again", gitServer)
	}
	if err := b.serves(secret); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "axle-up-")
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	b.way = &way{dir, stop}
	authority := filepath.Join(dir, "axle-git.pem")
	if err := os.WriteFile(authority, []byte(decoded(secret, "tls.crt")), 0o600); err != nil {
		return err
	}
	b.login = login{username: gitUser, password: decoded(secret, "password"), caFile: authority}
	local, err := b.forward(ctx)
	if err != nil {
		return err
	}
	b.git.env, err = b.login.env(b.app, b.answers.Repository, b.answers.at(local))
	return err
}

// forward carries a port of this machine to the pod of the Git server, until the context
// ends.
func (b *builder) forward(ctx context.Context) (local string, err error) {
	pod, err := b.gitPod(ctx)
	if err != nil {
		return "", err
	}
	if pod == "" {
		return "", errcode.New(errcode.Unavailable, "the Git server of the cluster has no pod that runs: %s -n %s get pods -l app.kubernetes.io/name=%s shows the reason", b.kubectl(), namespace, gitServer)
	}
	server, _, err := rest.DefaultServerUrlFor(b.kube.Config)
	if err != nil {
		return "", err
	}
	transport, upgrader, err := spdy.RoundTripperFor(b.kube.Config)
	if err != nil {
		return "", err
	}
	dialer := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, server.JoinPath("api/v1/namespaces", namespace, "pods", pod, "portforward"))
	ready, failed := make(chan struct{}), make(chan error, 1)
	f, err := portforward.NewOnAddressesForStreamingWithContext(ctx, dialer, []string{"127.0.0.1"}, []string{"0:" + b.answers.Port()}, ready, io.Discard, io.Discard)
	if err != nil {
		return "", err
	}
	go func() { failed <- f.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-failed:
		return "", errcode.New(errcode.Unavailable, "the Git server of the cluster cannot be reached through the API server: %w", errors.Join(err, ctx.Err()))
	}
	ports, err := f.GetPorts()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("127.0.0.1:%d", ports[0].Local), nil
}

// gitPod is the name of the pod of the Git server, empty if none is ready.
func (b *builder) gitPod(ctx context.Context) (string, error) {
	resource, err := b.kube.Resource(gitObject("v1", "Pod"))
	if err != nil {
		return "", err
	}
	list, err := resource.List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + gitServer, Limit: 100})
	if err != nil {
		return "", errcode.New(errcode.Unavailable, "list the pods of the Git server: %w", err)
	}
	for _, pod := range list.Items {
		if ready, _, _ := kubehealth.Condition(&pod, "Ready"); ready == "True" && pod.GetDeletionTimestamp() == nil {
			return pod.GetName(), nil
		}
	}
	return "", nil
}

// putAuthority writes a certificate unless it is there. git of the person may read it meanwhile.
func putAuthority(path string, authority []byte) error {
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, authority) {
		return nil
	}
	return atomicfile.Write(path, authority, 0o600)
}

// reachable lets git of a person reach the Git server from the folder while kubectl forwards
// its port, with the login that kubectl reads. Nothing of it is secret.
func (b *builder) reachable(ctx context.Context) error {
	host := b.answers.Host()
	if host == "" {
		return nil
	}
	dir, err := b.git.run(ctx, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return err
	}
	authority, err := os.ReadFile(b.login.caFile)
	if err != nil {
		return err
	}
	file, folder := filepath.Join(dir, gitServer+".pem"), filepath.Join(dir, gitServer)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for _, path := range []string{file, filepath.Join(folder, hashed)} {
		if err := putAuthority(path, authority); err != nil {
			return err
		}
	}
	local := (&url.URL{Scheme: "https", Host: net.JoinHostPort("localhost", b.answers.Port())}).String()
	for _, setting := range [][2]string{
		{"url." + local + "/.insteadOf", "https://" + host + "/"}, {"http." + local + ".sslCAInfo", file}, {"http." + local + ".sslCAPath", folder}, {"http." + local + ".proxy", ""},
		{"credential." + local + ".helper", fmt.Sprintf(`!f() { echo username=%s; echo "password=$(%s -n %s get secret %s -o 'jsonpath={.data.password}' | base64 -d)"; }; f`, gitUser, b.kubectl(), namespace, gitServer)},
	} {
		if _, err := b.git.run(ctx, "config", setting[0], setting[1]); err != nil {
			return err
		}
	}
	return nil
}

// kubectl begins a command for the cluster of this run, whatever the current one is.
func (b *builder) kubectl() string { return command.Kubectl(b.kubeconfig, b.kubeContext) }
