package install_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/test/kube"
)

// broken is a cluster with one thing wrong, and the values of an install into it.
type broken struct {
	values string
	// breaks changes the cluster, which is this test's own; in changes only a namespace.
	breaks func(t *testing.T, client kubernetes.Interface)
	in     func(t *testing.T, client kubernetes.Interface, namespace string)
	// check fails, and its message has both texts: what is wrong, and what to do.
	check, wrong, repair string
}

const plain = "url: https://127.0.0.1:1\nservice: {type: LoadBalancer}\n"

var clusters = map[string]broken{
	"no node":       {plain, func(t *testing.T, c kubernetes.Interface) { cordon(t, c) }, nil, "nodes", "none of 1 nodes", " uncordon"},
	"no class":      {plain, func(t *testing.T, c kubernetes.Interface) { unstore(t, c, true) }, nil, "storage", "no storage class", "install a provisioner"},
	"no default":    {plain, func(t *testing.T, c kubernetes.Interface) { unstore(t, c, false) }, nil, "storage", "no storage class is the default", "hub.storage.class to one of folder"},
	"wrong class":   {plain + "hub: {storage: {class: fast}}\n", nil, nil, "storage", "no storage class fast", "set hub.storage.class"},
	"no ingress":    {plain + "ingress: {enabled: true, className: nginx}\n", nil, nil, "ingress", "no ingress class", "install an ingress controller"},
	"other ingress": {plain + "ingress: {enabled: true, className: nginx}\n", func(t *testing.T, c kubernetes.Interface) { ingressClass(t, c, "traefik") }, nil, "ingress", "no ingress class nginx", "one of traefik"},
	"no gateway":    {plain + "gateway: {enabled: true, parents: [{name: public}]}\n", nil, nil, "gateway", "no Gateway public", "use ingress.enabled"},
	"no issuer":     {plain + "tls: {mode: certManager, issuer: {name: acme}}\n", nil, nil, "certificate", "certificate would never come", "install cert-manager"},
	"no Secret":     {plain + "tls: {mode: secret, secretName: cert}\n", nil, nil, "certificate", "no Secret cert", "create secret tls"},
	"other name": {plain + "tls: {mode: secret, secretName: cert}\n", nil, func(t *testing.T, c kubernetes.Interface, namespace string) {
		certificate(t, c, namespace, "other.test", time.Now().Add(time.Hour))
	}, "certificate", "not for 127.0.0.1", "set url to a name"},
	"ended": {plain + "tls: {mode: secret, secretName: cert}\n", nil, func(t *testing.T, c kubernetes.Interface, namespace string) {
		certificate(t, c, namespace, "127.0.0.1", time.Now().Add(-time.Hour))
	}, "certificate", "ended on", "renew it"},
	"no database": {plain + "shape: ha\nhub: {keySecret: {name: k}}\ndatabase: {urlSecret: {name: db}}\n", nil, nil, "secrets", "no Secret k (hub.keySecret), db (database.urlSecret)", "create secret generic"},
	"not a database": {plain + "database: {urlSecret: {name: db}}\n", nil, func(t *testing.T, c kubernetes.Interface, namespace string) {
		secret(t, c, namespace, "db", map[string][]byte{"url": []byte("mysql://user:hunter2@db/axle")})
	}, "database", "no URL of Postgres", "postgres://USER:PASSWORD@HOST"},
	"name taken": {plain, nil, func(t *testing.T, c kubernetes.Interface, namespace string) {
		_, err := c.CoreV1().Services(namespace).Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "axle"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}, metav1.CreateOptions{})
		must(t, err)
	}, "names", "service/axle", "choose another --release"},
	"no namespace":  {plain + "operator: {adminNamespaces: [platform]}\n", nil, nil, "namespaces", "platform", " create namespace platform"},
	"no monitoring": {plain + "monitoring: {rules: true}\n", nil, nil, "monitoring", "kind PrometheusRule", "monitoring.rules=false"},
	"other product": {plain, otherProduct, nil, "other operator", "their/controller of another product", "scale deployment controller --replicas 0"},
}

// What would keep an install from succeeding is named with its repair, and nothing is
// written. What is broken in a namespace alone shares a cluster.
func TestPreflightNamesWhatIsBroken(t *testing.T) {
	shared := kube.New(t, kube.ClusterConfig{})
	client, err := kubernetes.NewForConfig(shared.Config())
	must(t, err)
	sound(t, client)
	for name, c := range clusters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster, client, namespace := shared, client, "axle-"+strings.ReplaceAll(strings.ToLower(name), " ", "-")
			if c.breaks != nil {
				cluster, namespace = kube.New(t, kube.ClusterConfig{}), "axle"
				var err error
				client, err = kubernetes.NewForConfig(cluster.Config())
				must(t, err)
				sound(t, client)
				c.breaks(t, client)
			} else {
				_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
				must(t, err)
			}
			if c.in != nil {
				c.in(t, client, namespace)
			}
			b := onCluster(t, cluster)
			must(t, os.WriteFile(b.values, []byte(c.values), 0o600))
			out, errs, code := b.axle("preflight", "--kubeconfig", b.Kubeconfig(), "--namespace", namespace, "--values", b.values)
			if code != 6 || strings.Count(out, "failed") != 1 {
				t.Errorf("code %d, %s", code, out)
			}
			if !strings.Contains(errs, "failed: "+c.check+": ") || !strings.Contains(errs, c.wrong) || !strings.Contains(errs, c.repair) {
				t.Errorf("it says %q, not %q with %q", errs, c.wrong, c.repair)
			}
			if strings.Contains(out+errs, "hunter2") {
				t.Error("it shows a password")
			}
			if _, errs, code := b.axle("install", "--kubeconfig", b.Kubeconfig(), "--namespace", namespace, "--values", b.values); code == 0 || !strings.Contains(errs, c.repair) {
				t.Errorf("install: %d %s", code, errs)
			}
			if have, err := client.CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "owner=helm"}); err != nil || len(have.Items) > 0 {
				t.Errorf("a refused install left %d Secrets of a release, %v", len(have.Items), err)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sound gives a bare API server what an install needs.
func sound(t *testing.T, c kubernetes.Interface) {
	t.Helper()
	_, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "axle"}}, metav1.CreateOptions{})
	must(t, err)
	node, err := c.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "one"}}, metav1.CreateOptions{})
	must(t, err)
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	_, err = c.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
	must(t, err)
	_, err = c.StorageV1().StorageClasses().Create(t.Context(), &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: "folder", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}}, Provisioner: "axle.test/folder",
	}, metav1.CreateOptions{})
	must(t, err)
}

func cordon(t *testing.T, c kubernetes.Interface) {
	t.Helper()
	node, err := c.CoreV1().Nodes().Get(t.Context(), "one", metav1.GetOptions{})
	must(t, err)
	node.Spec.Unschedulable = true
	_, err = c.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{})
	must(t, err)
}

func unstore(t *testing.T, c kubernetes.Interface, all bool) {
	t.Helper()
	if all {
		must(t, c.StorageV1().StorageClasses().Delete(t.Context(), "folder", metav1.DeleteOptions{}))
		return
	}
	class, err := c.StorageV1().StorageClasses().Get(t.Context(), "folder", metav1.GetOptions{})
	must(t, err)
	class.Annotations = nil
	_, err = c.StorageV1().StorageClasses().Update(t.Context(), class, metav1.UpdateOptions{})
	must(t, err)
}

func ingressClass(t *testing.T, c kubernetes.Interface, name string) {
	t.Helper()
	_, err := c.NetworkingV1().IngressClasses().Create(t.Context(), &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.IngressClassSpec{Controller: "axle.test/" + name}}, metav1.CreateOptions{})
	must(t, err)
}

func secret(t *testing.T, c kubernetes.Interface, namespace, name string, data map[string][]byte) {
	t.Helper()
	_, err := c.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}, metav1.CreateOptions{})
	must(t, err)
}

// certificate stores one for a host in the Secret cert.
func certificate(t *testing.T, c kubernetes.Interface, namespace, host string, until time.Time) {
	t.Helper()
	public, private := pair(t, host, until)
	secret(t, c, namespace, "cert", map[string][]byte{"tls.crt": public, "tls.key": private})
}

// pair is a certificate for a host with its key, its own authority.
func pair(t *testing.T, host string, until time.Time) (public, private []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, NotBefore: until.Add(-24 * time.Hour), NotAfter: until, DNSNames: []string{host},
		IsCA: true, BasicConstraintsValid: true,
	}
	if host == "127.0.0.1" {
		template.DNSNames, template.IPAddresses = nil, []net.IP{net.ParseIP(host)}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}

// An API server of another version: its answer to /version is rewritten on the way.
func TestPreflightRefusesAnOldCluster(t *testing.T) {
	cluster := kube.Shared(t)
	config := cluster.Config()
	transport, err := rest.TransportFor(config)
	must(t, err)
	target, err := url.Parse(config.Host)
	must(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = transport
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.Request.URL.Path != "/version" {
			return nil
		}
		r.Body = io.NopCloser(strings.NewReader(`{"major":"1","minor":"24","gitVersion":"v1.24.3"}`))
		r.ContentLength = -1
		r.Header = http.Header{"Content-Type": {"application/json"}}
		return nil
	}
	server := httptest.NewServer(proxy)
	defer server.Close()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	var text bytes.Buffer
	text.WriteString("apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: \"" + server.URL + "\"}}]\ncontexts: [{name: c, context: {cluster: c}}]\n")
	must(t, os.WriteFile(file, text.Bytes(), 0o600))
	b := onCluster(t, cluster)
	for _, command := range []string{"preflight", "install"} {
		_, errs, code := b.axle(command, "--kubeconfig", file, "--url", "https://axle.example.com")
		if code == 0 || !strings.Contains(errs, "v1.24.3") || !strings.Contains(errs, "upgrade the cluster first") {
			t.Errorf("%s: %d %s", command, code, errs)
		}
	}
}
