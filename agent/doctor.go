package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/agent/hubclient"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	doctorTimeout = 10 * time.Second
	// skewTolerated is what the hub accepts in a signed renewal.
	skewTolerated = 10 * time.Minute
	// diskWanted is what an agent with a few dozen services needs.
	diskWanted = 256 << 20
)

// Check is one thing that an agent needs.
type Check struct {
	// Name is one word.
	Name string
	// Detail says what was found when all is well.
	Detail string
	// Problem is empty when all is well.
	Problem string
	// Fix says what to do about the problem.
	Fix string
}

// Doctor checks one thing after the other; a later one may fail because of an
// earlier one. It changes nothing.
func Doctor(ctx context.Context, cfg Config) iter.Seq[Check] {
	return func(yield func(Check) bool) {
		for _, check := range []func(context.Context, Config) Check{
			checkDNS, checkHub, checkToken, checkCluster, checkRights, checkDisk, checkRender,
		} {
			limited, cancel := context.WithTimeout(ctx, doctorTimeout)
			result := check(limited, cfg)
			cancel()
			if !yield(result) {
				return
			}
		}
	}
}

func checkDNS(ctx context.Context, cfg Config) Check {
	c := Check{Name: "dns"}
	if cfg.HubURL == "" {
		return c.fails("no hub is named", "give --hub-url https://host[:port]")
	}
	u, err := url.Parse(cfg.HubURL)
	if err != nil || u.Hostname() == "" {
		return c.fails(fmt.Sprintf("%q is not the URL of a hub", cfg.HubURL), "give --hub-url https://host[:port]")
	}
	addresses, err := net.DefaultResolver.LookupHost(ctx, u.Hostname())
	if err != nil {
		return c.fails(err.Error(), "make the name known to the resolver of this machine or pod, or correct --hub-url")
	}
	c.Detail = fmt.Sprintf("%s is %s", u.Hostname(), addresses[0])
	if u.Hostname() == addresses[0] {
		c.Detail = addresses[0] + " is an address, no name is looked up"
	}
	return c
}

// checkHub looks at connection, TLS and clock with one request.
func checkHub(ctx context.Context, cfg Config) Check {
	c := Check{Name: "hub"}
	if cfg.HubURL == "" {
		return c.fails("no hub is named", "give --hub-url https://host[:port]")
	}
	ca, err := cfg.caPEM()
	if err != nil {
		return c.fails(err.Error(), "give --ca-file the hub's ca.pem")
	}
	transport, err := hubclient.NewTransport(ca)
	if err != nil {
		return c.fails(err.Error(), "give --ca-file the hub's ca.pem")
	}
	defer transport.CloseIdleConnections()
	if _, err := hubclient.New(hubclient.Config{URL: cfg.HubURL, Transport: transport}); err != nil {
		return c.fails(err.Error(), "correct --hub-url")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, cfg.HubURL+"/healthz", nil)
	if err != nil {
		return c.fails(err.Error(), "correct --hub-url")
	}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		return c.fails(err.Error(), fixOf(err))
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return c.fails(fmt.Sprintf("%s/healthz answers %s (%s)", cfg.HubURL, answer.Status, answer.Header.Get("Content-Type")),
			"look whether a proxy or a portal answers instead of the hub, and at the hub's own log")
	}
	c.Detail = cfg.HubURL + " answers"
	if answer.TLS != nil && len(answer.TLS.PeerCertificates) > 0 {
		c.Detail += fmt.Sprintf(", %s, certificate good until %s", tls.VersionName(answer.TLS.Version), answer.TLS.PeerCertificates[0].NotAfter.Format(time.DateOnly))
	}
	if at, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		if skew := time.Since(at); skew.Abs() > skewTolerated {
			return c.fails(fmt.Sprintf("this clock differs from the hub's by %v", skew.Round(time.Second)), "set the clock of this machine, or of the hub's; renewals are refused otherwise")
		}
	}
	return c
}

// fixOf tells the usual failures of a connection apart.
func fixOf(err error) string {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var expired x509.CertificateInvalidError
	var plain tls.RecordHeaderError
	switch {
	case errors.As(err, &authority):
		return "the certificate is signed by nobody who is trusted here; give --ca-file the hub's ca.pem"
	case errors.As(err, &name):
		return "the certificate is for another name; use one of its names in --hub-url"
	case errors.As(err, &expired):
		return "the certificate is not valid now; renew it, or set this clock"
	case errors.As(err, &plain):
		return "the hub speaks plain HTTP here; correct the scheme or the port of --hub-url"
	}
	return "let this machine or pod reach the hub's address and port, through a proxy by HTTPS_PROXY if need be"
}

func checkToken(_ context.Context, cfg Config) Check {
	c := Check{Name: "identity"}
	if _, err := os.Stat(filepath.Join(cfg.DataDir, identityFile)); cfg.Kubeconfig != "" && err == nil {
		c.Detail = "is in " + cfg.dir(identityFile)
		return c
	}
	switch {
	case cfg.TokenFile == "" && cfg.Kubeconfig != "":
		return c.fails("there is no identity in "+cfg.DataDir+" and no --token-file",
			"give --token-file with a bootstrap token; `axle clusters create` or `axle clusters connect` makes one")
	case cfg.TokenFile == "":
		c.Detail = "no --token-file: fine when this cluster's Secret holds an identity already"
		return c
	}
	a := &Agent{cfg: cfg}
	if _, err := a.bootstrapToken(); err != nil {
		return c.fails(err.Error(), "write a bootstrap token into the file; `axle clusters create` or `axle clusters connect` makes one")
	}
	c.Detail = "a bootstrap token is in " + cfg.TokenFile
	return c
}

func checkCluster(ctx context.Context, cfg Config) Check {
	c := Check{Name: "cluster"}
	cfg.setDefaults()
	k, err := newKube(cfg.Kubeconfig, cfg.Clock, cfg.Log)
	if err != nil {
		return c.fails(errcode.Message(err), "give --kubeconfig, or run in a pod of the cluster")
	}
	s, err := k.serves(ctx)
	if err != nil {
		return c.fails(errcode.Message(err), "let this machine or pod reach the API server, and look at its health")
	}
	if s.partial != "" {
		return c.fails(s.partial, "mend or remove the APIService that fails; until then nothing is pruned")
	}
	c.Detail = "Kubernetes " + s.caps.KubernetesVersion
	return c
}

// checkRights asks for what every agent needs; a service may need more.
func checkRights(ctx context.Context, cfg Config) Check {
	c := Check{Name: "rights"}
	cfg.setDefaults()
	k, err := newKube(cfg.Kubeconfig, cfg.Clock, cfg.Log)
	if err != nil {
		return c.fails(errcode.Message(err), "give --kubeconfig, or run in a pod of the cluster")
	}
	for _, need := range []authorizationv1.ResourceAttributes{
		{Verb: "get", Resource: "namespaces"},
		{Verb: "create", Resource: "secrets", Namespace: cfg.Namespace},
		{Verb: "update", Resource: "secrets", Namespace: cfg.Namespace},
		{Verb: "delete", Resource: "secrets", Namespace: cfg.Namespace},
		{Verb: "watch", Resource: "secrets"},
		{Verb: "patch", Resource: "deployments", Group: "apps"},
		{Verb: "watch", Resource: "customresourcedefinitions", Group: "apiextensions.k8s.io"},
	} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &need}}
		answer, err := k.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return c.fails(err.Error(), "let this machine or pod reach the API server")
		}
		if !answer.Status.Allowed {
			return c.fails(fmt.Sprintf("may not %s %s", need.Verb, need.Resource), "bind the agent's account to the role of its manifests; `axle clusters connect NAME --print` shows them")
		}
	}
	c.Detail = "may do what every agent needs"
	return c
}

func checkDisk(_ context.Context, cfg Config) Check {
	c := Check{Name: "disk"}
	dir := cfg.DataDir
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return c.fails(fmt.Sprintf("%s: %v", dir, err), "let the agent's user write to --data-dir")
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return c.fails(err.Error(), "give --data-dir a folder on a local disk")
	}
	free := fs.Bavail * uint64(fs.Bsize)
	if free < diskWanted {
		return c.fails(fmt.Sprintf("%d MiB are free at %s", free>>20, dir), fmt.Sprintf("make room for at least %d MiB", diskWanted>>20))
	}
	c.Detail = fmt.Sprintf("%d MiB are free at %s", free>>20, dir)
	return c
}

func checkRender(_ context.Context, cfg Config) Check {
	c := Check{Name: "render"}
	binary, err := renderBinary(cfg.RenderBinary)
	if err == nil {
		_, err = os.Stat(binary)
	}
	if err != nil {
		return c.fails(err.Error(), "install axle-render beside axle-agent, or name it with --render-binary")
	}
	c.Detail = binary
	return c
}

func (c Check) fails(problem, fix string) Check {
	c.Problem, c.Fix = problem, fix
	return c
}
