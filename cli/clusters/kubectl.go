package clusters

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/clientcmd"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/flagvalue"
)

// killWithin is how long kubectl may take to stop after it was told to.
const killWithin = 5 * time.Second

type kubectlRequest struct {
	clusters []string
	project  string
	parallel int
	timeout  time.Duration
	args     []string
}

// Kubectl returns the command axle kubectl.
func Kubectl(a *command.App) *cobra.Command {
	r := kubectlRequest{}
	c := &cobra.Command{
		Use:   "kubectl --clusters SELECTION -- ARGS",
		Short: "Run one kubectl command over many clusters, through the hub",
		Long: `Run one kubectl command over many clusters in parallel. Each run goes through the
hub with its own credential, which is valid for an hour at most. Each line of output
starts with the name of its cluster. A summary follows. The exit code is 1 unless the
command succeeded on all clusters. With -o json the result is one array that holds
each output, parsed if it is JSON; put kubectl's own -o after the --.`,
		Example: `  axle kubectl --clusters tier=prod -- get nodes
  axle kubectl --clusters edge-1,edge-2 --parallel 2 -- rollout status deploy/web -n web
  axle kubectl --clusters all -o json -- get pods -A -o json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exitcode.Usagef("name the command to run, such as: %s -- get nodes", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			r.args = args
			return overClusters(c.Context(), a, r)
		},
	}
	flagvalue.List(c.Flags(), &r.clusters, "clusters", "clusters to run on: names, tags as KEY=VALUE (all must match), or all")
	c.Flags().StringVar(&r.project, "project", "", "only clusters of this project")
	c.Flags().IntVar(&r.parallel, "parallel", 10, "how many clusters at a time")
	c.Flags().DurationVar(&r.timeout, "timeout", 0, "how long each run may take; 0 sets no limit")
	return c
}

// kubectlRun is the run of a request on one cluster.
type kubectlRun struct {
	kubectlRequest
	program, cluster string
	// dir holds the run's kubeconfig and cache; the run creates it.
	dir string
	// width is that of the widest label.
	width int
	// lines is held while a line is written.
	lines *sync.Mutex
}

// outcome is the result on one cluster.
type outcome struct {
	Cluster  string          `json:"cluster"`
	OK       bool            `json:"ok"`
	ExitCode int             `json:"exitCode"`
	Seconds  float64         `json:"seconds"`
	Output   json.RawMessage `json:"output,omitempty"`
	Stdout   string          `json:"stdout,omitempty"`
	Stderr   string          `json:"stderr,omitempty"`
	Error    string          `json:"error,omitempty"`
}

func overClusters(ctx context.Context, a *command.App, r kubectlRequest) error {
	if a.Output != "table" && a.Output != "json" && a.Output != "yaml" {
		return exitcode.Usagef("-o %s is not table, json or yaml", a.Output)
	}
	if r.parallel < 1 {
		return exitcode.Usagef("--parallel %d is less than one", r.parallel)
	}
	program, err := exec.LookPath("kubectl")
	if err != nil {
		return errcode.New(errcode.Invalid, "kubectl is not on your PATH; install it first")
	}
	clusters, err := chosen(ctx, a, r)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "axle-kubectl-")
	if err != nil {
		return errcode.New(errcode.Invalid, "create a folder for kubeconfigs: %w", err)
	}
	defer os.RemoveAll(dir)
	outcomes := make([]outcome, len(clusters))
	var lines sync.Mutex
	group := errgroup.Group{}
	group.SetLimit(r.parallel)
	width := 0
	for _, c := range clusters {
		width = max(width, len(c))
	}
	for i, name := range clusters {
		group.Go(func() error {
			outcomes[i] = onCluster(ctx, a, kubectlRun{kubectlRequest: r, program: program, dir: filepath.Join(dir, fmt.Sprint(i)), cluster: name, width: width, lines: &lines})
			return nil
		})
	}
	_ = group.Wait() // the outcomes hold the errors
	return summary(a, outcomes)
}

// chosen returns the names of the clusters that match a selection.
func chosen(ctx context.Context, a *command.App, r kubectlRequest) ([]string, error) {
	names, tags, all := []string{}, map[string]string{}, false
	for _, term := range r.clusters {
		key, value, isTag := strings.Cut(term, "=")
		if key == "tag" && strings.Contains(value, "=") {
			key, value, _ = strings.Cut(value, "=")
		}
		switch {
		case isTag:
			tags[key] = value
		case term == "all":
			all = true
		default:
			names = append(names, term)
		}
	}
	if len(names) > 0 && (len(tags) > 0 || all) {
		return nil, exitcode.Usagef("--clusters takes names, or tags, or all; do not mix them")
	}
	if len(names)+len(tags) == 0 && !all && r.project == "" {
		return nil, exitcode.Usagef("select clusters with --clusters; for all, use --clusters all")
	}
	if len(names) > 0 {
		return names, nil
	}
	client, err := a.Client()
	if err != nil {
		return nil, err
	}
	list, err := client.AllClusters(ctx, &hubv1.ListClustersRequest{Project: r.project, Tags: tags})
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		names = append(names, c.GetName())
	}
	if len(names) == 0 {
		return nil, errcode.New(errcode.NotFound, "no cluster matches; axle clusters list shows those that exist, with their tags")
	}
	slices.Sort(names)
	return names, nil
}

// onCluster runs the command on one cluster.
func onCluster(ctx context.Context, a *command.App, r kubectlRun) outcome {
	if r.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.timeout)
		defer cancel()
	}
	began := a.Now()
	var stdout, stderr bytes.Buffer
	out, errs := io.Writer(&stdout), io.Writer(&stderr)
	if a.Output == "table" {
		label := fmt.Sprintf("%-*s  ", r.width, r.cluster)
		o, e := &labelled{to: a.Out, label: label, mu: r.lines}, &labelled{to: a.Err, label: label, mu: r.lines}
		defer o.end()
		defer e.end()
		out, errs = o, e
	}
	err := runKubectl(ctx, a, r, out, errs)
	result := outcome{Cluster: r.cluster, OK: err == nil, Seconds: a.Now().Sub(began).Seconds(), Stdout: stdout.String(), Stderr: stderr.String()}
	if json.Valid(stdout.Bytes()) && stdout.Len() > 0 {
		result.Output, result.Stdout = json.RawMessage(stdout.Bytes()), ""
	}
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		result.ExitCode, result.Error = ended.ExitCode(), err.Error()
	case err != nil:
		result.ExitCode, result.Error = exitcode.Failed, err.Error()
		fmt.Fprintf(errs, "%s\n", err)
	}
	return result
}

// tunnelReady returns an error for a cluster without a tunnel. Without this check
// kubectl's discovery request would fail with an error that does not name the
// cause.
func tunnelReady(ctx context.Context, a *command.App, name string) error {
	client, err := a.Client()
	if err != nil {
		return err
	}
	c, err := client.Clusters.Get(ctx, connect.NewRequest(&hubv1.GetClusterRequest{Name: name}))
	if err != nil || c.Msg.GetTunnel() == "Up" {
		return nil // leave what cannot be known here to the hub's answer
	}
	return errcode.New(errcode.Unavailable, "cluster %s is %s and its tunnel is %s; axle clusters get %s shows more; axle-agent doctor, run where the agent runs, shows what keeps the tunnel down", name, clusterState(c.Msg), tunnelOf(a, c.Msg), name)
}

func runKubectl(ctx context.Context, a *command.App, r kubectlRun, out, errs io.Writer) error {
	made, err := credential(ctx, a, r.cluster, 0)
	if err == nil {
		err = overTLS(made.GetServer())
	}
	if err == nil {
		err = tunnelReady(ctx, a, r.cluster)
	}
	if err != nil {
		return err
	}
	config, err := kubeconfigOf(a, kubeconfigRequest{cluster: r.cluster, plugin: false}, made)
	if err != nil {
		return err
	}
	path := filepath.Join(r.dir, "kubeconfig")
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		return err
	}
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return err
	}
	// Each run has its own cache: the clusters behind one hub serve different
	// APIs.
	cmd := exec.CommandContext(ctx, r.program, append([]string{"--kubeconfig", path, "--cache-dir", filepath.Join(r.dir, "cache")}, r.args...)...)
	cmd.Stdout, cmd.Stderr = out, errs
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = killWithin
	return cmd.Run()
}

// summary prints the result of all clusters.
func summary(a *command.App, outcomes []outcome) error {
	var failed []string
	for _, o := range outcomes {
		if !o.OK {
			failed = append(failed, o.Cluster)
		}
	}
	if a.Output != "table" {
		if err := a.Encode(outcomes); err != nil {
			return err
		}
	}
	if len(failed) == 0 {
		if !a.Quiet {
			fmt.Fprintf(a.Err, "%s: all succeeded\n", output.Count(len(outcomes), "cluster"))
		}
		return nil
	}
	return errcode.New(errcode.Unavailable, "%d of %d clusters failed: %s", len(failed), len(outcomes), strings.Join(failed, ", "))
}

// labelled puts a label before each complete line.
type labelled struct {
	to    io.Writer
	label string
	mu    *sync.Mutex
	rest  []byte
}

// Write implements io.Writer.
func (l *labelled) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		end := bytes.IndexByte(l.rest, '\n')
		if end < 0 {
			return len(p), nil
		}
		if err := l.line(l.rest[:end+1]); err != nil {
			return 0, err
		}
		l.rest = l.rest[end+1:]
	}
}

func (l *labelled) line(text []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.to.Write(append([]byte(l.label), text...))
	return err
}

// end writes a last line that has no newline.
func (l *labelled) end() {
	if len(l.rest) > 0 {
		// An error means that the output is already closed.
		_ = l.line(append(l.rest, '\n'))
	}
}
