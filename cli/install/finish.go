package install

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"connectrpc.com/connect"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

// managementCluster is the name under which the cluster of the hub is connected, and
// managementProject its project, in which only administrators have rights: who may write
// that cluster can read the hub's key.
const (
	managementCluster = "mgmt"
	managementProject = "axle-system"
)

// answerWithin bounds one look at the hub's address.
const answerWithin = 10 * time.Second

// maxLog bounds what is read of the hub's log for the setup's address.
const maxLog = 1 << 20

// setupAddress finds the address that the hub prints until it is set up.
var setupAddress = regexp.MustCompile(`https?://\S+/setup\?token=[^\s;"\\]+`)

// finisher does what comes after an install.
type finisher struct{ *installer }

// finish says where the hub is and what is next, and does it as far as asked.
func (i finisher) finish(ctx context.Context, r *Rendered) error {
	address := strings.TrimSuffix(r.text("url"), "/")
	if i.wait == 0 {
		_, err := fmt.Fprintf(i.app.Out, "the release %s is installed; the hub will be at %s\n", i.release, address)
		return err
	}
	ca, err := i.authority(ctx, r)
	if err != nil {
		return err
	}
	setup := i.setupURL(ctx, address)
	unreachable := i.reach(ctx, address, ca)
	if i.email == "" || unreachable != nil {
		return i.next(r, setup, len(ca) > 0, unreachable)
	}
	dir, err := os.MkdirTemp("", "axle-install-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := i.login(ctx, dir, address, setup, ca); err != nil {
		return err
	}
	if err := i.operatorAccount(ctx, r); err != nil {
		return err
	}
	if err := i.connectMgmt(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintf(i.app.Out, "Axle is at %s; you are logged in as %s\nnext: axle clusters connect NAME --kubeconfig FILE\n", address, i.email)
	return err
}

// next prints the address, the setup's address and the next command.
func (i finisher) next(r *Rendered, setup string, ownCA bool, unreachable error) error {
	address := strings.TrimSuffix(r.text("url"), "/")
	lines := []string{"Axle is installed; its address is " + address}
	if unreachable != nil {
		lines = append(lines, "it does not answer from here yet: "+unreachable.Error(), "point its name at the ingress or load balancer: "+i.kubectl()+" -n "+i.namespace+" get service,ingress")
	}
	ca := ""
	if ownCA {
		ca = " --ca ca.pem"
		if r.text("tls", "mode") == "devCA" {
			lines = append(lines, fmt.Sprintf("its authority: %s -n %s get configmap %s-ca -o jsonpath='{.data.ca\\.pem}' > ca.pem", i.kubectl(), i.namespace, i.fullName()))
		}
	}
	if setup != "" {
		lines = append(lines, "create the first administrator, once, within 24 h: "+setup)
	}
	lines = append(lines, fmt.Sprintf("next: axle login %[1]s%[2]s, and then: axle projects create %[3]s --administrators-only, and: axle clusters connect %[4]s --project %[3]s", address, ca, managementProject, managementCluster))
	_, err := fmt.Fprintln(i.app.Out, strings.Join(lines, "\n"))
	return err
}

// authority is the certificate authority that clients need, nil for a public one.
func (i finisher) authority(ctx context.Context, r *Rendered) ([]byte, error) {
	if name := r.text("tls", "ca", "secretName"); name != "" {
		secret, err := i.secretOf(ctx, name)
		if err != nil || secret == nil {
			return nil, err
		}
		return secret.Data[r.text("tls", "ca", "key")], nil
	}
	if r.text("tls", "mode") != "devCA" {
		return nil, nil
	}
	var config corev1.ConfigMap
	there, err := i.read(ctx, core("configmaps"), i.namespace, i.fullName()+"-ca", &config)
	if err == nil && !there {
		err = errcode.New(errcode.Unavailable, "the hub has not published its authority in the ConfigMap %s-ca yet: run the same command again", i.fullName())
	}
	return []byte(config.Data["ca.pem"]), err
}

// setupURL reads the setup's address in the log of a hub that is not set up; empty if
// it is, or the log cannot be read. An address elsewhere is not the hub's: any pod of the
// namespace can have its labels.
func (i finisher) setupURL(ctx context.Context, address string) string {
	client, err := rest.HTTPClientFor(i.cluster.Config)
	if err != nil {
		return ""
	}
	pods, err := i.cluster.Client.Resource(core("pods")).Namespace(i.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=axle-hub,app.kubernetes.io/instance=" + i.release})
	if err != nil {
		return ""
	}
	for _, pod := range pods.Items {
		path := fmt.Sprintf("%s/api/v1/namespaces/%s/pods/%s/log?container=hub", strings.TrimSuffix(i.cluster.Config.Host, "/"), i.namespace, pod.GetName())
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
		if err != nil {
			return ""
		}
		answer, err := client.Do(request)
		if err != nil {
			continue
		}
		text, _ := io.ReadAll(io.LimitReader(answer.Body, maxLog))
		answer.Body.Close()
		for _, found := range setupAddress.FindAll(text, -1) {
			if strings.HasPrefix(string(found), address+"/setup?") {
				return string(found)
			}
		}
	}
	return ""
}

// learnsWithin is how long an ingress may take to learn of the hub's pods.
const learnsWithin = 30 * time.Second

// reach asks the hub's address as people will. An ingress that does not know the pods
// yet answers in the hub's place with a status from 502 to 504, and is asked again.
func (i finisher) reach(ctx context.Context, address string, ca []byte) error {
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(ca) > 0 {
		trust.RootCAs = x509.NewCertPool()
		trust.RootCAs.AppendCertsFromPEM(ca)
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: trust, DisableKeepAlives: true}}
	var last error
	_, err := i.app.PollUntil(ctx, learnsWithin, func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, answerWithin)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/readyz", nil)
		if err != nil {
			return false, err
		}
		answer, err := client.Do(request)
		if last = err; err != nil {
			return true, nil
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			last = fmt.Errorf("%s/readyz answers %s", address, answer.Status)
		}
		return answer.StatusCode < http.StatusBadGateway || answer.StatusCode > http.StatusGatewayTimeout, nil
	})
	if err != nil {
		return err
	}
	return last
}

// login creates the first administrator, unless an interrupted run did.
func (i finisher) login(ctx context.Context, dir, address, setup string, ca []byte) error {
	if i.loggedIn(ctx, address) {
		return nil
	}
	u, err := url.Parse(setup)
	if setup == "" || err != nil {
		return errcode.New(errcode.Conflict, "the hub at %s is set up already: axle login %s, and run the same command again", address, address)
	}
	args := []string{"login", address, "--setup-token-file", filepath.Join(dir, "setup-token"), "--email", i.email}
	if err := os.WriteFile(filepath.Join(dir, "setup-token"), []byte(u.Query().Get("token")), 0o600); err != nil {
		return err
	}
	if len(ca) > 0 {
		if err := os.WriteFile(filepath.Join(dir, "ca.pem"), ca, 0o600); err != nil {
			return err
		}
		args = append(args, "--ca", filepath.Join(dir, "ca.pem"))
	}
	if i.contextName != "" {
		args = append(args, "--name", i.contextName)
	}
	i.say("logging in to %s as %s", address, i.email)
	return i.run(ctx, args...)
}

// loggedIn reports whether the current context is a login to this hub that works.
func (i finisher) loggedIn(ctx context.Context, address string) bool {
	target, err := i.app.Target()
	if err != nil || strings.TrimSuffix(target.URL, "/") != address {
		return false
	}
	client, err := i.app.Client()
	if err != nil {
		return false
	}
	_, err = client.Sessions.WhoAmI(ctx, connect.NewRequest(&hubv1.WhoAmIRequest{}))
	return err == nil
}

// operatorActions are what objects in the admin namespaces may do: everything that
// the kinds of the operator declare.
const operatorActions = "read,write,create,git"

// operatorAccount gives the operator its account at the hub. What is there stays.
func (i finisher) operatorAccount(ctx context.Context, r *Rendered) error {
	if !r.on("operator", "enabled") {
		return nil
	}
	switch err := i.run(ctx, "serviceaccounts", "create", "operator", "--quiet"); {
	case err == nil:
		i.say("created the operator's service account, with rights in the whole hub")
	case !errcode.Is(err, errcode.Conflict):
		return err
	}
	return i.run(ctx, "auth", "bind", "--global", "--service-account", "operator", "--action", operatorActions, "--quiet")
}

// connectMgmt connects the cluster itself, unless it is.
func (i finisher) connectMgmt(ctx context.Context) error {
	if i.withoutMgmt {
		return nil
	}
	client, err := i.app.Client()
	if err != nil {
		return err
	}
	polled, err := mgmtPolled(ctx, client)
	if polled {
		return nil
	}
	if err != nil && !errcode.Is(err, errcode.NotFound) {
		return err
	}
	i.say("connecting this cluster as %s", managementCluster)
	args := []string{"clusters", "connect", managementCluster, "--skip-image-check"}
	if err != nil {
		if err := i.ownProject(ctx, client); err != nil {
			return err
		}
		args = append(args, "--project", managementProject)
	}
	if i.kubeconfig != "" {
		args = append(args, "--kubeconfig", i.kubeconfig)
	}
	if i.kubeContext != "" {
		args = append(args, "--kube-context", i.kubeContext)
	}
	err = i.run(ctx, args...)
	if errcode.Is(err, errcode.Conflict) {
		// A hub that started just now has seen no poll: the agent of before comes back at its next one, also while it is
		// being connected again, which the hub then refuses.
		if polled, _ := mgmtPolled(ctx, client); polled {
			return nil
		}
	}
	return err
}

// mgmtPolled reports whether the hub has seen a poll of mgmt's agent.
func mgmtPolled(ctx context.Context, client *sdk.Client) (bool, error) {
	have, err := client.Clusters.Get(ctx, connect.NewRequest(&hubv1.GetClusterRequest{Name: managementCluster}))
	if err != nil {
		return false, err
	}
	return have.Msg.GetPolledAt() > 0, nil
}

// ownProject creates the project of the hub's own cluster, unless it is there.
func (i finisher) ownProject(ctx context.Context, client *sdk.Client) error {
	have, err := client.Projects.Get(ctx, connect.NewRequest(&hubv1.GetProjectRequest{Name: managementProject}))
	switch {
	case errcode.Is(err, errcode.NotFound):
		return i.run(ctx, "projects", "create", managementProject, "--administrators-only", "--quiet")
	case err == nil && !have.Msg.GetAdministratorsOnly():
		err = errcode.New(errcode.Conflict, "project %[1]s exists, and role bindings give rights in it: connect this cluster yourself, in a project that axle projects create NAME --administrators-only makes (axle clusters connect %[2]s --project NAME)", managementProject, managementCluster)
	}
	return err
}
