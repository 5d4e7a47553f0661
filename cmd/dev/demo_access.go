package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/axle-cd/axle/internal/child"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/bin"
)

// talker is the service with a real pod.
const talker = "talker"

const talkerYAML = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: talker
  annotations:
    greeting: %s
spec:
  replicas: 1
  selector:
    matchLabels: {app: talker}
  template:
    metadata:
      labels: {app: talker}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: talker
          image: axle.test/talker:1
          args: [-listen, "$(POD_IP):8080", -tick, 100ms]
          env:
            - name: POD_IP
              valueFrom: {fieldRef: {fieldPath: status.podIP}}
`

// asked is one request to a cluster, through the hub and directly.
type asked struct {
	what            string
	through, direct time.Duration
	lines           int
}

// buildTalker builds the program of the one real pod.
func (d *demo) buildTalker(ctx context.Context) error {
	program, err := bin.Path(ctx, "greeter", bin.Options{Package: "./test/kube/testdata/greeter"})
	if err != nil {
		return err
	}
	d.talker = program
	for _, name := range d.world.Clusters {
		d.world.Cluster(name).SetBinary(talker, program)
	}
	return nil
}

// way is a kubeconfig: one through the hub, or the cluster's own.
type way struct {
	d          *demo
	kubeconfig string
}

func (w way) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "kubectl", append([]string{"--kubeconfig", w.kubeconfig}, args...)...)
	// The kubeconfig runs the axle command, which gets a token.
	cmd.Env = append(os.Environ(), "AXLE_CONFIG="+w.d.world.Settings(), "NO_COLOR=1",
		"PATH="+filepath.Dir(w.d.world.Programs["axle"])+string(os.PathListSeparator)+os.Getenv("PATH"))
	return cmd
}

func (w way) kubectl(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := w.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}

// access makes the same requests to one cluster through the hub and directly.
func (d *demo) access(ctx context.Context) error {
	d.chapter("kubectl through the hub: no agent listens, no port of a cluster is open, and every answer is the cluster's own")
	through := way{d, filepath.Join(d.world.Dir, "edge-1.kubeconfig")}
	direct := way{d, d.world.Cluster("edge-1").Kubeconfig()}
	text, err := d.axle(ctx, "clusters", "kubeconfig", "edge-1", "--exec-plugin")
	if err != nil {
		return err
	}
	if err := os.WriteFile(through.kubeconfig, []byte(text), 0o600); err != nil {
		return err
	}
	pod, err := direct.kubectl(ctx, "-n", talker, "get", "pods", "-o", "jsonpath={.items[0].metadata.name}")
	if err != nil {
		return err
	}
	file := filepath.Join(d.world.Dir, "sent")
	if err := os.WriteFile(file, []byte(strings.Repeat(rand.Text()+"\n", 1<<15)), 0o600); err != nil {
		return err
	}
	for _, q := range []question{
		{"get pods -A", "get pods -A", getPods, false},
		{"exec", "exec " + pod + " -- sh -c 'hostname; id; cat /proc/1/comm'", func(ctx context.Context, w way) (string, error) {
			return w.kubectl(ctx, "-n", talker, "exec", pod, "--", "sh", "-c", "hostname; id; cat /proc/1/comm")
		}, false},
		{"logs -f, while it grows", "logs -f " + pod, func(ctx context.Context, w way) (string, error) { return follow(ctx, w, pod) }, true},
		{"cp, there and back", "cp FILE " + pod + ":/tmp/file, and back", func(ctx context.Context, w way) (string, error) { return copyBoth(ctx, w, pod, file) }, false},
		{"port-forward", "port-forward " + pod + " :8080", func(ctx context.Context, w way) (string, error) { return forward(ctx, w, pod) }, false},
	} {
		if err := d.ask(ctx, q, through, direct); err != nil {
			return err
		}
	}
	return nil
}

// question is a request to a cluster. Asked both ways together, it waits for the same
// lines of a log.
type question struct {
	name, what string
	ask        func(context.Context, way) (string, error)
	together   bool
}

// ask repeats a question both ways until the answers are equal, which they are at once
// unless the cluster changed in between.
func (d *demo) ask(ctx context.Context, q question, through, direct way) error {
	d.say("$ kubectl %s", q.what)
	a := asked{what: q.name}
	err := eventually.Wait(ctx, 20*time.Second, func() error {
		var got, want string
		var both errgroup.Group
		if !q.together {
			both.SetLimit(1)
		}
		both.Go(func() (err error) {
			if got, a.through, err = timed(ctx, through, q.ask); err != nil {
				err = fmt.Errorf("through the hub: %w", err)
			}
			return err
		})
		both.Go(func() (err error) {
			if want, a.direct, err = timed(ctx, direct, q.ask); err != nil {
				err = fmt.Errorf("directly: %w", err)
			}
			return err
		})
		if err := both.Wait(); err != nil {
			return err
		}
		a.lines = strings.Count(got, "\n")
		if got != want {
			return fmt.Errorf("kubectl %s: through the hub comes\n%s\nand directly\n%s", q.what, got, want)
		}
		return nil
	})
	d.asked = append(d.asked, a)
	return err
}

func timed(ctx context.Context, w way, ask func(context.Context, way) (string, error)) (string, time.Duration, error) {
	began := time.Now()
	got, err := ask(ctx, w)
	return got, time.Since(began), err
}

var age = regexp.MustCompile(`(?m) +\S+ *$`)

// getPods removes the ages, which change.
func getPods(ctx context.Context, w way) (string, error) {
	out, err := w.kubectl(ctx, "get", "pods", "-A")
	return age.ReplaceAllString(out, ""), err
}

// follow reads the log from its beginning while it grows, up to line 60.
func follow(ctx context.Context, w way, pod string) (text string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := w.command(ctx, "-n", talker, "logs", "-f", pod)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := child.Start(cmd); err != nil {
		return "", err
	}
	defer func() {
		child.Kill(cmd)
		cmd.Wait()
	}()
	lines := bufio.NewScanner(out)
	for range 60 {
		if !lines.Scan() {
			return "", errors.Join(fmt.Errorf("the log ended after %q", text), lines.Err())
		}
		// The two streams of the program are copied concurrently.
		if line := lines.Text(); strings.HasPrefix(line, "tick ") {
			text += line + "\n"
		}
	}
	return text, nil
}

// copyBoth copies a file into the pod and back, and returns it.
func copyBoth(ctx context.Context, w way, pod, file string) (string, error) {
	back := file + ".back"
	defer os.Remove(back)
	if _, err := w.kubectl(ctx, "-n", talker, "cp", file, pod+":/tmp/file"); err != nil {
		return "", err
	}
	if _, err := w.kubectl(ctx, "-n", talker, "cp", pod+":/tmp/file", back); err != nil {
		return "", err
	}
	sent, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	got, err := os.ReadFile(back)
	if err == nil && !bytes.Equal(sent, got) {
		err = fmt.Errorf("%d bytes were sent and %d others came back", len(sent), len(got))
	}
	return string(got), err
}

// forward requests the pod's page through kubectl port-forward.
func forward(ctx context.Context, w way, pod string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := w.command(ctx, "-n", talker, "port-forward", "--address", "127.0.0.1", "pod/"+pod, ":8080")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := child.Start(cmd); err != nil {
		return "", err
	}
	defer func() {
		child.Kill(cmd)
		cmd.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("port-forward says %q: %w", line, err)
	}
	address, _, ok := strings.Cut(strings.TrimPrefix(line, "Forwarding from "), " ->")
	if !ok {
		return "", fmt.Errorf("port-forward says %q", line)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/", nil)
	if err != nil {
		return "", err
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	return string(page), err
}
