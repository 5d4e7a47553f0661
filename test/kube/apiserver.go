package kube

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
)

// apiServer is the name of the program.
const apiServer = "kube-apiserver"

// masters is the group that may do everything.
const masters = "system:masters"

// Users of the cluster's own components. Each has its own name, so that the audit log
// distinguishes them from the program under test.
const (
	adminUser       = "admin"
	controllersUser = "kube-controller-manager"
	kwokUser        = "kwok"
	kubeletUser     = "process-kubelet"
)

// ServiceNetwork is where the addresses of Services are; the API server has the first.
const (
	ServiceNetwork      = "10.96.0.0/16"
	firstServiceAddress = "10.96.0.1"
)

// auditPolicy records each request once when it begins to stream (watches) and
// once when it ends.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// path is a file of the cluster.
func (c *Cluster) path(name string) string { return filepath.Join(c.dir, name) }

// writeFiles makes the keys and files that the API server starts with.
func (c *Cluster) writeFiles() error {
	var err error
	if c.ca, err = newAuthority(c.id); err != nil {
		return err
	}
	serving, err := c.ca.serving(apiServer, c.cfg.Address, firstServiceAddress)
	if err != nil {
		return err
	}
	if err := serving.write(c.dir, "apiserver"); err != nil {
		return err
	}
	toKubelet, err := c.ca.client("kube-apiserver-kubelet-client", []string{masters})
	if err != nil {
		return err
	}
	if err := toKubelet.write(c.dir, "apiserver-kubelet-client"); err != nil {
		return err
	}
	if err := writeServiceAccountKey(c.path("service-account.key")); err != nil {
		return err
	}
	for name, content := range map[string]string{
		"ca.crt":     string(c.ca.pem),
		"tokens.csv": c.tokenFile(),
		"audit.yaml": auditPolicy,

		"authentication.yaml": c.cfg.Authentication,
	} {
		if err := os.WriteFile(c.path(name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// tokenFile lists who may log in by a token.
func (c *Cluster) tokenFile() string {
	users := append([]User{{Name: adminUser, Token: c.token, Groups: []string{masters}}}, c.cfg.Users...)
	var b strings.Builder
	for _, u := range users {
		fmt.Fprintf(&b, "%s,%s,%s,%q\n", u.Token, u.Name, u.Name, strings.Join(u.Groups, ","))
	}
	return b.String()
}

func (c *Cluster) apiArgs() []string {
	// Without the condition taints a node needs no lifecycle controller to
	// become usable.
	disabled := "TaintNodesByCondition"
	if !c.controllers {
		// Nothing creates the service account that admission would wait for.
		disabled += ",ServiceAccount"
	}
	reconciler := "lease"
	if net.ParseIP(c.cfg.Address).IsLoopback() {
		reconciler = "none" // endpoints must not be loopback addresses, and nothing here reads them
	}
	args := []string{
		"--etcd-servers=" + c.bed.etcdURL,
		"--etcd-prefix=/" + c.id,
		"--bind-address=" + c.cfg.Address,
		"--advertise-address=" + c.cfg.Address,
		"--endpoint-reconciler-type=" + reconciler,
		fmt.Sprintf("--secure-port=%d", c.port),
		"--tls-cert-file=" + c.path("apiserver.crt"),
		"--tls-private-key-file=" + c.path("apiserver.key"),
		"--client-ca-file=" + c.path("ca.crt"),
		"--token-auth-file=" + c.path("tokens.csv"),
		"--authorization-mode=RBAC",
		"--service-account-key-file=" + c.path("service-account.key"),
		"--service-account-signing-key-file=" + c.path("service-account.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-cluster-ip-range=" + ServiceNetwork,
		"--disable-admission-plugins=" + disabled,
		"--allow-privileged=true",
		"--profiling=false",
		"--kubelet-client-certificate=" + c.path("apiserver-kubelet-client.crt"),
		"--kubelet-client-key=" + c.path("apiserver-kubelet-client.key"),
		"--kubelet-certificate-authority=" + c.path("ca.crt"),
		"--kubelet-preferred-address-types=InternalIP",
	}
	if c.cfg.Authentication != "" {
		args = append(args, "--authentication-config="+c.path("authentication.yaml"))
	}
	for _, version := range c.cfg.Serves {
		args = append(args, "--runtime-config="+version+"=true")
	}
	if c.audit {
		args = append(args, "--audit-policy-file="+c.path("audit.yaml"), "--audit-log-path="+c.path("audit.log"),
			// An answer waits for its record, so that the log contains everything
			// that a caller has seen.
			"--audit-log-mode=blocking-strict",
			// The log is read from marks in one file; by itself it begins a new
			// one at 100 MB.
			"--audit-log-maxsize=100000")
	}
	return args
}

// ready asks the API server whether it serves, and waits for the namespace that
// every test begins with.
func (c *Cluster) ready(ctx context.Context) error {
	client, err := rest.HTTPClientFor(c.config(c.token))
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	for _, path := range []string{"/readyz", "/api/v1/namespaces/default"} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL()+path, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", path, resp.Status)
		}
	}
	return nil
}

// newToken returns a random bearer token.
func newToken() string { return rand.Text() }
