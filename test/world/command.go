package world

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/axle-cd/axle/internal/child"
	"github.com/axle-cd/axle/test/kube"
)

// Result is the result of a command.
type Result struct {
	Out, Err string
	Code     int
}

// Axle runs the axle command as a person would, with this world's own settings. A
// status other than 0 is an error that quotes the output.
func (w *World) Axle(ctx context.Context, args ...string) (Result, error) {
	return w.command(ctx, nil, w.Programs["axle"], args...)
}

// AxleIn is Axle with standard input.
func (w *World) AxleIn(ctx context.Context, in string, args ...string) (Result, error) {
	return w.command(ctx, strings.NewReader(in), w.Programs["axle"], args...)
}

// Kubectl runs kubectl as a cluster's administrator.
func (w *World) Kubectl(ctx context.Context, cluster string, args ...string) (Result, error) {
	return w.KubectlOf(ctx, w.Cluster(cluster), args...)
}

// KubectlOf is Kubectl for a cluster that is not one of the world's.
func (w *World) KubectlOf(ctx context.Context, cluster *kube.Cluster, args ...string) (Result, error) {
	return w.command(ctx, nil, "kubectl", append([]string{"--kubeconfig", cluster.Kubeconfig()}, args...)...)
}

func (w *World) command(ctx context.Context, in *strings.Reader, program string, args ...string) (Result, error) {
	command := exec.CommandContext(ctx, program, args...)
	command.Env = append(os.Environ(), "AXLE_CONFIG="+w.Settings(), "NO_COLOR=1")
	if in != nil {
		command.Stdin = in
	}
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	err := command.Run()
	result := Result{out.String(), errs.String(), command.ProcessState.ExitCode()}
	if err != nil {
		return result, fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(program), strings.Join(args, " "), err, result.Out, result.Err)
	}
	return result, nil
}

// Settings is the file of the axle command's contexts.
func (w *World) Settings() string { return filepath.Join(w.Dir, "axle.yaml") }

// Login logs in as the first administrator.
func (w *World) Login(ctx context.Context) error {
	args := []string{"login", w.Origin(), "--setup-token-file", w.Hub.SetupTokenFile(), "--email", "admin@example.test", "--name", "world"}
	if w.Hub.CA != "" {
		args = append(args, "--ca", w.Hub.CA)
	}
	_, err := w.Axle(ctx, args...)
	return err
}

// ConnectPod registers a cluster and installs the agent as a pod, from the
// manifests that the CLI makes.
func (w *World) ConnectPod(ctx context.Context, cluster string, flags ...string) error {
	_, err := w.Axle(ctx, append([]string{"clusters", "connect", cluster, "--kubeconfig", w.Cluster(cluster).Kubeconfig(), "--image", AgentImage}, flags...)...)
	return err
}

// Agent is an axle-agent that runs outside its cluster, so that a test can kill it
// and read its folder.
type Agent struct {
	Cluster string
	DataDir string
	Log     string

	program string
	args    []string
	env     []string
	running *program
	// metrics is where it serves metrics, with Config.Rest.
	metrics string
}

// AgentOptions change how an agent process is started.
type AgentOptions struct {
	// HubURL is where it dials; empty is the hub itself.
	HubURL string
	// User is the agent's user at the API server, an administrator; empty means
	// "axle-agent".
	User string
	// Flags are more flags of axle-agent run.
	Flags []string
	// KubeURL is a plain proxy before the API server, for NewAgent alone.
	KubeURL string
	// Token is the bootstrap token of a cluster that exists; ConnectProcess makes a cluster
	// without it.
	Token string
}

// NewAgent makes an agent, not yet started, that reaches its API server through
// a proxy, so that several share one.
func (w *World) NewAgent(name string, o AgentOptions) (*Agent, error) {
	kubeconfig := filepath.Join(w.Dir, "agent-"+name+".kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: %q}}]\ncontexts: [{name: c, context: {cluster: c}}]\n", o.KubeURL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return w.agent(name, kubeconfig, o.Token, o)
}

func (w *World) agent(name, kubeconfig, bootstrap string, o AgentOptions) (*Agent, error) {
	if o.HubURL == "" {
		o.HubURL = w.Origin()
	}
	a := &Agent{Cluster: name, DataDir: filepath.Join(w.Dir, "agent-"+name), Log: filepath.Join(w.Dir, "agent-"+name+".log"), program: w.Programs["axle-agent"]}
	if err := os.MkdirAll(a.DataDir, 0o700); err != nil {
		return nil, err
	}
	token := filepath.Join(a.DataDir, "bootstrap-token")
	if err := os.WriteFile(token, []byte(strings.TrimSpace(bootstrap)), 0o600); err != nil {
		return nil, err
	}
	a.args = append([]string{"run", "--hub-url", o.HubURL, "--token-file", token, "--kubeconfig", kubeconfig, "--data-dir", a.DataDir, "--poll-interval", "1s", "--render-binary", w.Programs["axle-render"]}, o.Flags...)
	if err := w.serveRest(a); err != nil {
		return nil, err
	}
	if w.Hub != nil && w.Hub.CA != "" {
		a.args = append(a.args, "--ca-file", w.Hub.CA)
	}
	w.mu.Lock()
	w.agents = append(w.agents, a)
	w.mu.Unlock()
	return a, nil
}

// ConnectProcess registers a cluster and starts an agent for it as a process that
// polls every second.
func (w *World) ConnectProcess(ctx context.Context, cluster string, o AgentOptions) (*Agent, error) {
	if o.User == "" {
		o.User = "axle-agent"
	}
	kubeconfig, err := w.Cluster(cluster).KubeconfigFor(o.User, "system:masters")
	if err != nil {
		return nil, err
	}
	if o.Token == "" {
		made, err := w.Axle(ctx, "clusters", "create", cluster)
		if err != nil {
			return nil, err
		}
		o.Token = made.Out
	}
	a, err := w.agent(cluster, kubeconfig, o.Token, o)
	if err != nil {
		return nil, err
	}
	return a, a.Start()
}

// AddFlags gives the agent more flags from its next Start on; of a flag that is
// there twice the last one counts.
func (a *Agent) AddFlags(flags ...string) { a.args = append(a.args, flags...) }

// Start starts the agent, again after a Kill.
func (a *Agent) Start() (err error) {
	a.running, err = start(a.program, a.Log, a.env, a.args)
	return err
}

// Kill ends the agent at once.
func (a *Agent) Kill() error { return a.running.end(context.Background(), syscall.SIGKILL) }

// Freeze stops the agent's process, Thaw resumes it.
func (a *Agent) Freeze() error { return child.Signal(a.running.command, syscall.SIGSTOP) }

// Thaw ends a Freeze.
func (a *Agent) Thaw() error { return child.Signal(a.running.command, syscall.SIGCONT) }

// Pid is the process id of the running agent, or of the last that ran.
func (a *Agent) Pid() int { return a.running.command.Process.Pid }

// Ended reports whether the process is gone.
func (a *Agent) Ended() bool {
	select {
	case <-a.running.done:
		return true
	default:
		return false
	}
}

// Tail is the end of the agent's log.
func (a *Agent) Tail() string { return tail(a.Log) }

// Service is a service as "axle services list -o json" shows it.
type Service struct {
	Cluster         string    `json:"cluster"`
	Name            string    `json:"name"`
	Namespace       string    `json:"namespace"`
	DesiredRevision string    `json:"desiredRevision"`
	AppliedRevision string    `json:"appliedRevision"`
	Sync            string    `json:"sync"`
	Reason          string    `json:"reason"`
	Health          string    `json:"health"`
	Freshness       string    `json:"freshness"`
	PolledAt        time.Time `json:"-"`
	Message         string    `json:"message"`
	Revision        int64     `json:"revision"`
	Errors          []struct {
		Source  string `json:"source"`
		Message string `json:"message"`
		Age     string `json:"age"`
	} `json:"errors"`
}

// Text is everything that the service says is wrong.
func (s Service) Text() string {
	parts := []string{s.Sync, s.Reason, s.Health, s.Message}
	for _, e := range s.Errors {
		parts = append(parts, e.Source+": "+e.Message)
	}
	return strings.Join(parts, " ")
}

// Services lists all services.
func (w *World) Services(ctx context.Context) ([]Service, error) {
	result, err := w.Axle(ctx, "services", "list", "-o", "json")
	if err != nil {
		return nil, err
	}
	var services []Service
	return services, json.Unmarshal([]byte(result.Out), &services)
}

// Service returns one service.
func (w *World) Service(ctx context.Context, cluster, name string) (s Service, err error) {
	result, err := w.Axle(ctx, "services", "get", cluster+"/"+name, "-o", "json")
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal([]byte(result.Out), &s)
}
