package proxy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/tools/remotecommand"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/tunnel/authproxy"
	"github.com/axle-cd/axle/internal/eventually"
)

// cutter breaks streams as a tunnel that is gone does.
type cutter struct {
	mu  sync.Mutex
	all []hubEnd
}

func (c *cutter) wrap(open func() hubEnd) authproxy.Stream {
	s := open()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, s)
	return s
}

// cut breaks all streams off.
func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.all {
		s.downEnd.CloseWithError(errors.New("http2: client connection lost"))
	}
	c.all = nil
}

// output collects a command's output, and can be waited for.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// cutBed has a pod that prints for ever, and a hub whose tunnels can be cut.
func cutBed(t *testing.T) (*bed, *cutter, string) {
	t.Helper()
	c := &cutter{}
	b := newBed(t, options{clock: hasty{}, streams: func(_ context.Context, _ *agentv1.StreamHead, open func() hubEnd) authproxy.Stream {
		return c.wrap(open)
	}})
	namespace := b.kube.Namespace(t)
	b.pod(namespace, "sleeper", "exec sleep 3600")
	return b, c, namespace
}

// TestCutCommandsSaySo cuts the tunnel, or revokes the token, during commands of each
// protocol, with real clients: no client may end as if the command had.
func TestCutCommandsSaySo(t *testing.T) {
	t.Parallel()
	scripts := map[string]string{
		"a quiet one":   "echo half; exec sleep 3600",
		"one that ends": "echo half; echo more >&2; exec cat",
	}
	ways := map[string]struct {
		cut  func(*bed, *cutter)
		says string
	}{
		"the tunnel is cut":    {func(_ *bed, c *cutter) { c.cut() }, "the tunnel of cluster edge was cut"},
		"the token is revoked": {func(b *bed, _ *cutter) { b.people.revoke(adminToken) }, "the token was revoked"},
	}
	for way, w := range ways {
		for name, script := range scripts {
			for client, run := range clients {
				t.Run(way+", "+name+", "+client, func(t *testing.T) {
					t.Parallel()
					b, c, namespace := cutBed(t)
					out := &output{}
					ended := make(chan error, 1)
					go func() { ended <- run(b, namespace, out, script) }()
					eventually.For(t, limit, "the command's first word", func() error {
						if !strings.Contains(out.String(), "half") {
							return fmt.Errorf("it says %q", out.String())
						}
						return nil
					})
					w.cut(b, c)
					if err := <-ended; err == nil || !strings.Contains(err.Error()+out.String(), w.says) {
						t.Errorf("it ended with %v; it printed %q; want %q", err, out.String(), w.says)
					}
				})
			}
		}
	}
}

// clients run a command in the pod and return how it ended.
var clients = map[string]func(b *bed, namespace string, out io.Writer, script string) error{
	"kubectl by WebSocket": func(b *bed, namespace string, out io.Writer, script string) error {
		return b.kubectlExec("true", namespace, out, script)
	},
	"kubectl by SPDY": func(b *bed, namespace string, out io.Writer, script string) error {
		return b.kubectlExec("false", namespace, out, script)
	},
	"client-go by WebSocket": func(b *bed, namespace string, out io.Writer, script string) error {
		executor, err := remotecommand.NewWebSocketExecutor(b.rest(adminToken), http.MethodGet, b.execURL(namespace, script).String())
		if err != nil {
			return err
		}
		return b.stream(executor, out)
	},
	"client-go by SPDY": func(b *bed, namespace string, out io.Writer, script string) error {
		executor, err := remotecommand.NewSPDYExecutor(b.rest(adminToken), http.MethodPost, b.execURL(namespace, script))
		if err != nil {
			return err
		}
		return b.stream(executor, out)
	},
}

// execURL asks for a command of the pod, through the hub.
func (b *bed) execURL(namespace, script string) *url.URL {
	config := b.rest(adminToken)
	u, err := url.Parse(config.Host + "/api/v1/namespaces/" + namespace + "/pods/sleeper/exec")
	if err != nil {
		b.t.Error(err)
		return nil
	}
	u.RawQuery = url.Values{"stdin": {"true"}, "stdout": {"true"}, "stderr": {"true"}, "command": {"sh", "-c", script}}.Encode()
	return u
}

func (b *bed) stream(executor remotecommand.Executor, out io.Writer) error {
	stdin, end := io.Pipe()
	defer end.Close()
	return executor.StreamWithContext(b.t.Context(), remotecommand.StreamOptions{Stdin: stdin, Stdout: out, Stderr: out})
}

func (b *bed) kubectlExec(webSockets, namespace string, out io.Writer, script string) error {
	cmd := b.kubectl(b.kubeconfig(adminToken), "-n", namespace, "exec", "-i", "sleeper", "--", "sh", "-c", script)
	cmd.Env = append(os.Environ(), "KUBECTL_REMOTE_COMMAND_WEBSOCKETS="+webSockets)
	stdin, end := io.Pipe()
	defer end.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, out, out
	if err := cmd.Start(); err != nil {
		return err
	}
	// Wait would also wait for stdin, which is never closed.
	state, err := cmd.Process.Wait()
	_ = end.Close()
	_ = cmd.Wait()
	if err == nil && !state.Success() {
		err = fmt.Errorf("kubectl: %s", state)
	}
	return err
}
