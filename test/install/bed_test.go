package install_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/kube"
	"github.com/axle-cd/axle/test/port"
)

// limit bounds a command, and a condition that is waited for; the command's own --timeout of
// 5 min ends before.
const limit = 6 * time.Minute

// bed is a cluster whose pods run the programs of this tree.
type bed struct {
	*kube.Cluster
	t   *testing.T
	url string
	// values is a file with the values of this machine, config the one in which axle
	// keeps its logins.
	values, config string
	// version is that of the commands; empty is this tree's.
	version string
	// environ are more variables of commands.
	environ []string
}

// turns let two control planes run side by side, one on each core: most of their time
// is waiting for pods.
var turns = make(chan struct{}, 2)

// sideBySide runs a test beside one other.
func sideBySide(t *testing.T) {
	t.Helper()
	t.Parallel()
	turns <- struct{}{}
	t.Cleanup(func() { <-turns })
}

// onCluster is a bed whose cluster runs nothing of ours.
func onCluster(t *testing.T, cluster *kube.Cluster) *bed {
	t.Helper()
	dir := t.TempDir()
	return &bed{Cluster: cluster, t: t, values: filepath.Join(dir, "values.yaml"), config: filepath.Join(dir, "axle.yaml")}
}

// newBed starts a cluster that runs the control plane as processes.
func newBed(t *testing.T) *bed {
	t.Helper()
	return newBedOf(t, "")
}

// newBedOf is newBed whose images come from a registry.
func newBedOf(t *testing.T, images string) *bed {
	t.Helper()
	b := onCluster(t, newCluster(t, images))
	if err := os.WriteFile(b.values, []byte(b.machine()), 0o600); err != nil {
		t.Fatal(err)
	}
	return b
}

func newCluster(t *testing.T, images string) *kube.Cluster {
	t.Helper()
	return kube.New(t, kube.ClusterConfig{Controllers: true, Kwok: true, Binaries: programs(t), Images: images})
}

// programs are what pods run.
func programs(t *testing.T) map[string]string {
	t.Helper()
	binaries := map[string]string{}
	for _, name := range []string{"axle-hub", "axle-operator", "axle-agent", "axle-render", "axle-render-rare"} {
		path, err := bin.Path(t.Context(), name, bin.Options{})
		if err != nil {
			t.Fatal(err)
		}
		binaries[name] = path
	}
	return binaries
}

// machine are values for the process kubelet: its images, and ports that are free,
// because all pods share the machine's network. An upgrade runs two operators for a while:
// each listens on the address of its pod.
func (b *bed) machine() string {
	ports := make([]int, 4)
	for i := range ports {
		free, err := port.Free()
		if err != nil {
			b.t.Fatal(err)
		}
		ports[i] = free
	}
	b.url = fmt.Sprintf("https://127.0.0.1:%d", ports[0])
	return fmt.Sprintf(`url: %s
global: {registry: axle.test}
hub:
  image: {repository: axle-hub}
  port: %d
  metricsPort: %d
operator:
  image: {repository: axle-operator}
  healthPort: %[4]d
  metricsPort: %[5]d
  args: ["--health-listen=$(POD_IP):%[4]d", "--metrics-listen=$(POD_IP):%[5]d"]
  env: [{name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]
agent:
  image: {repository: axle-agent}
tls: {mode: devCA}
`, b.url, ports[0], ports[1], ports[2], ports[3])
}

// axle runs the command and returns its output and its code.
func (b *bed) axle(args ...string) (out, errs string, code int) {
	b.t.Helper()
	program, err := bin.Path(b.t.Context(), "axle", bin.Options{Version: b.version})
	if err != nil {
		b.t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	ctx, cancel := context.WithTimeout(b.t.Context(), limit)
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
	command.Env, command.Stdout, command.Stderr = b.env(), &stdout, &stderr
	var exit *exec.ExitError
	if err := command.Run(); err != nil && !errors.As(err, &exit) {
		b.t.Fatal(err)
	}
	code = command.ProcessState.ExitCode()
	b.t.Logf("axle %s: %d\n%s%s", strings.Join(args, " "), code, stdout.String(), stderr.String())
	return stdout.String(), stderr.String(), code
}

// env is the environment of commands that this bed's logins are for.
func (b *bed) env(more ...string) []string {
	return slices.Concat(os.Environ(), []string{"AXLE_CONFIG=" + b.config, "KUBECACHEDIR=" + filepath.Join(filepath.Dir(b.config), "kubecache")}, b.environ, more)
}

// must is axle that succeeds.
func (b *bed) must(args ...string) string {
	b.t.Helper()
	out, errs, code := b.axle(args...)
	if code != 0 {
		b.t.Fatalf("axle %s: %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

// kubectl runs kubectl as the administrator.
func (b *bed) kubectl(args ...string) string {
	b.t.Helper()
	out, err := b.ask(args)
	if err != nil {
		b.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// try is kubectl that may fail, also after the test.
func (b *bed) try(args ...string) string {
	b.t.Helper()
	out, err := b.ask(args)
	if err != nil {
		out += err.Error()
	}
	return out
}

// ask returns what kubectl writes to its standard error with an error only: it also has
// harmless warnings, such as that a request was slow.
func (b *bed) ask(args []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.t.Context()), limit)
	defer cancel()
	var errs bytes.Buffer
	command := exec.CommandContext(ctx, "kubectl", append([]string{"--kubeconfig", b.Kubeconfig()}, args...)...)
	command.Stderr = &errs
	out, err := command.Output()
	if err != nil {
		return string(out) + errs.String(), err
	}
	return string(out), nil
}
