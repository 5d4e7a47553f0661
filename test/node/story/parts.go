package story

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/node"
)

// Values are those of the install: the hub has its own authority, is reached by a load
// balancer, and may fetch from this machine.
const Values = `url: https://` + node.Balancer + `
tls: {mode: devCA}
service: {type: LoadBalancer}
hub: {upstreamNetworks: [` + node.Network + `]}
`

// restricted is the namespaces whose pods Pod Security holds to its strictest standard.
var restricted = []string{"axle", "axle-system", "web"}

// elsewhere serves the same images at an address of this machine to which the node has no
// route: a pod whose image is there does not start, and one of the bundle's registry does.
func (s *story) elsewhere(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", node.ElsewhereRegistry)
	if err != nil {
		return err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: node.Registry})}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	defer func() {
		server.Close()
		<-ended
	}()
	image := strings.Replace(node.Guest, node.Registry, node.ElsewhereRegistry, 1)
	if _, err := page(ctx, "http://"+node.ElsewhereRegistry+"/v2/_catalog"); err != nil {
		return fmt.Errorf("the other registry itself does not answer, so a refusal would prove nothing: %w", err)
	}
	for name, image := range map[string]string{"here": node.Guest, "elsewhere": image} {
		if _, err := s.kubectl(ctx, "run", name, "--image", image, "--restart", "Never"); err != nil {
			return err
		}
	}
	if _, err := s.kubectl(ctx, "wait", "pod/here", "--for", "condition=Ready", "--timeout", "2m"); err != nil {
		return err
	}
	err = eventually.WaitEvery(ctx, time.Minute, 250*time.Millisecond, func() error {
		message, err := s.object(ctx, "default", "events", `{.items[?(@.reason=="Failed")].message}`)
		if err == nil && (!strings.Contains(message, image) || !strings.Contains(message, "network is unreachable")) {
			err = fmt.Errorf("the pod elsewhere did not fail as wanted: %q", message)
		}
		return err
	})
	if err != nil {
		return err
	}
	_, err = s.kubectl(ctx, "delete", "pod", "here", "elsewhere", "--grace-period", "1")
	return err
}

func (s *story) install(ctx context.Context) error {
	for _, name := range restricted {
		if _, err := s.kubectl(ctx, "create", "namespace", name); err != nil {
			return err
		}
		if _, err := s.kubectl(ctx, "label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted"); err != nil {
			return err
		}
	}
	values := filepath.Join(s.Dir, "values.yaml")
	if err := os.WriteFile(values, []byte(Values), 0o600); err != nil {
		return err
	}
	_, err := s.axle(ctx, "install", "--kubeconfig", s.node.Cluster.Kubeconfig(), "--registry", node.Registry, "--values", values, "--email", "you@example.test")
	if err != nil {
		return err
	}
	if err := s.agentIs(ctx, first); err != nil {
		return err
	}
	return s.hardened(ctx)
}

// hardened asks the kernel how our programs run, and the API server where images are from.
func (s *story) hardened(ctx context.Context) error {
	want := []string{"/axle-agent", "/axle-hub", "/axle-operator"}
	var weak []string
	for _, p := range s.node.Processes() {
		want = slices.DeleteFunc(want, func(w string) bool { return w == p.Program })
		if p.UID == 0 || !p.ReadOnlyRoot || !p.NoNewPrivileges || !p.Seccomp || strings.Trim(p.Capabilities, "0") != "" {
			weak = append(weak, fmt.Sprintf("%+v", p))
		}
	}
	if len(want) > 0 || len(weak) > 0 {
		return fmt.Errorf("not running: %v; running with more rights than they need: %v", want, weak)
	}
	images, err := s.kubectl(ctx, "get", "pods", "--all-namespaces", "-o", "jsonpath={.items[*].status.containerStatuses[*].imageID}")
	if err != nil {
		return err
	}
	for _, image := range strings.Fields(images) {
		if !strings.HasPrefix(image, node.Registry+"/") {
			return fmt.Errorf("the image %s is from another registry", image)
		}
	}
	return nil
}

// agentIs waits until the agent of this cluster runs a version and the hub knows.
func (s *story) agentIs(ctx context.Context, version string) error {
	return s.eventually(ctx, func() error {
		have, err := s.object(ctx, "axle-system", "deployment/axle-agent", "{.spec.template.spec.containers[0].image} {.status.availableReplicas}/{.status.replicas}")
		if want := node.Registry + "/axle-cd/axle-agent:" + version + " 1/1"; err == nil && have != want {
			return fmt.Errorf("the agent is %q, want %q", have, want)
		}
		if err != nil {
			return err
		}
		out, err := s.axle(ctx, "clusters", "get", "mgmt", "-o", "json")
		if err == nil && !strings.Contains(out, `"`+version+`"`) {
			err = fmt.Errorf("the hub does not know of the agent's version %s: %s", version, out)
		}
		return err
	})
}

func (s *story) declare(ctx context.Context) error {
	file := filepath.Join(s.Dir, "context.yaml")
	text := "apiVersion: deployments.plural.sh/v1alpha1\nkind: ServiceContext\nmetadata: {name: shop, namespace: axle}\nspec: {configuration: {region: north}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	if _, err := s.kubectl(ctx, "apply", "-f", file); err != nil {
		return err
	}
	if _, err := s.kubectl(ctx, "wait", "servicecontexts/shop", "--namespace", "axle", "--for", "condition=Ready", "--timeout", "2m"); err != nil {
		return err
	}
	out, err := s.axle(ctx, "servicecontexts", "list")
	if err == nil && !strings.Contains(out, "shop") {
		err = fmt.Errorf("the hub does not have it: %s", out)
	}
	return err
}

// web is a page of the guest behind a load balancer.
func web(greeting string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
      containers:
        - name: web
          image: %s
          args: [%q]
          readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
          securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: web}
spec:
  type: LoadBalancer
  selector: {app: web}
  ports: [{port: 80, targetPort: 8080}]
`, node.Guest, greeting)
}

// deliver serves a repository with a certificate of an authority of its own and a
// password, and delivers a folder of it.
func (s *story) deliver(ctx context.Context) error {
	password := rand.Text()
	var err error
	if s.git, err = gitserver.Start(ctx, gitserver.Config{Listen: node.Host + ":0", TLS: true, Username: "ci", Password: password}); err != nil {
		return err
	}
	if err := s.git.Create(ctx, "fleet"); err != nil {
		return err
	}
	if _, err := s.git.Commit(ctx, "fleet", "main", "the web", map[string]string{"apps/web/web.yaml": web("good day")}); err != nil {
		return err
	}
	ca, secret := filepath.Join(s.Dir, "git-ca.pem"), filepath.Join(s.Dir, "git-password")
	if err := errors.Join(os.WriteFile(ca, []byte(s.git.CA()), 0o600), os.WriteFile(secret, []byte(password), 0o600)); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"repos", "add", "fleet", s.git.URL("fleet"), "--ca-cert-file", ca, "--username", "ci", "--password-file", secret},
		{"services", "create", "mgmt/web", "--repo", "fleet", "--ref", "main", "--folder", "apps/web", "--wait"},
	} {
		if _, err := s.axle(ctx, args...); err != nil {
			return err
		}
	}
	return s.says(ctx, "good day")
}

// says waits until the page of the service, through its load balancer, is a text.
func (s *story) says(ctx context.Context, want string) error {
	return s.eventually(ctx, func() error {
		address, err := s.object(ctx, "web", "service/web", "{.status.loadBalancer.ingress[0].ip}")
		if err != nil || address == "" {
			return fmt.Errorf("the service has no address yet: %w", err)
		}
		text, err := page(ctx, "http://"+address+"/")
		if err == nil && text != want {
			err = fmt.Errorf("the page says %q, want %q", text, want)
		}
		return err
	})
}

func page(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s", url, response.Status)
	}
	return strings.TrimSpace(string(text)), err
}

// change makes a commit and waits for it at its end.
func (s *story) change(greeting string) func(context.Context) error {
	return func(ctx context.Context) error {
		if _, err := s.git.Commit(ctx, "fleet", "main", greeting, map[string]string{"apps/web/web.yaml": web(greeting)}); err != nil {
			return err
		}
		if _, err := s.axle(ctx, "repos", "refresh", "fleet", "--wait"); err != nil {
			return err
		}
		return s.says(ctx, greeting)
	}
}

// upgrade pushes the second release, and upgrades the control plane with its command.
func (s *story) upgrade(ctx context.Context) error {
	s.client = s.releases[1].Client
	if _, err := s.axle(ctx, "bundle", "push", s.releases[1].Dir, node.Registry, "--plain-http"); err != nil {
		return err
	}
	if _, err := s.axle(ctx, "upgrade", "--kubeconfig", s.node.Cluster.Kubeconfig()); err != nil {
		return err
	}
	image, err := s.object(ctx, "axle", "pod/axle-0", "{.status.containerStatuses[0].image}")
	if want := node.Registry + "/axle-cd/axle-hub:" + second; err == nil && image != want {
		err = fmt.Errorf("the hub is %q, want %q", image, want)
	}
	return err
}

func (s *story) upgraded(ctx context.Context) error {
	if err := s.agentIs(ctx, second); err != nil {
		return err
	}
	return s.hardened(ctx)
}

// answers waits until the hub answers a person and its pod is ready.
func (s *story) answers(ctx context.Context, changed func(uid, restarts string) bool) error {
	return s.eventually(ctx, func() error {
		uid, err := s.object(ctx, "axle", "pod/axle-0", "{.metadata.uid}")
		if err != nil {
			return err
		}
		restarts, err := s.object(ctx, "axle", "pod/axle-0", "{.status.containerStatuses[0].restartCount}")
		if err != nil {
			return err
		}
		if !changed(uid, restarts) {
			return fmt.Errorf("the pod %s of the hub, with %s restarts, is still the one before", uid, restarts)
		}
		out, err := s.axle(ctx, "services", "list")
		if err == nil && !strings.Contains(out, "web") {
			err = fmt.Errorf("the hub lost its service: %s", out)
		}
		return err
	})
}

func (s *story) kill(ctx context.Context) error {
	was, err := s.object(ctx, "axle", "pod/axle-0", "{.status.containerStatuses[0].restartCount}")
	if err != nil {
		return err
	}
	all := s.node.Processes()
	i := slices.IndexFunc(all, func(p node.Process) bool { return p.Program == "/axle-hub" })
	if i < 0 {
		return errors.New("no process of the hub runs")
	}
	if err := syscall.Kill(all[i].PID, syscall.SIGKILL); err != nil {
		return err
	}
	return s.answers(ctx, func(_, restarts string) bool { return restarts != was })
}

func (s *story) deletePod(ctx context.Context) error {
	was, err := s.object(ctx, "axle", "pod/axle-0", "{.metadata.uid}")
	if err != nil {
		return err
	}
	if _, err := s.kubectl(ctx, "--namespace", "axle", "delete", "pod", "axle-0", "--wait=false"); err != nil {
		return err
	}
	return s.answers(ctx, func(uid, _ string) bool { return uid != was })
}
