package proxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/eventually"
)

func readAll(r io.Reader) string {
	content, err := io.ReadAll(r)
	if err != nil {
		return fmt.Sprintf("%s (%v)", content, err)
	}
	return string(content)
}

// TestKubectl runs the real kubectl through the proxy, against a real API
// server and pods that are real processes.
func TestKubectl(t *testing.T) {
	t.Parallel()
	b := newBed(t, options{})
	namespace := b.kube.Namespace(t)
	b.pod(namespace, "talker", `echo begin; while read line; do echo "got $line"; done; exec sleep 3600`)
	config := b.kubeconfig(adminToken)
	run := func(t *testing.T, stdin string, args ...string) string {
		t.Helper()
		cmd := b.kubectl(config, append([]string{"-n", namespace}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	want := func(t *testing.T, out, part string) {
		t.Helper()
		if !strings.Contains(out, part) {
			t.Errorf("got\n%s\nwithout %q", out, part)
		}
	}
	t.Run("get as a table", func(t *testing.T) { want(t, run(t, "", "get", "pods"), "Running") })
	t.Run("get in chunks", func(t *testing.T) {
		want(t, run(t, "", "get", "clusterroles", "--chunk-size=20"), "system:node-proxier")
	})
	t.Run("apply on the server's side", func(t *testing.T) {
		object := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {a: b}\n"
		want(t, run(t, object, "apply", "--server-side", "-f", "-"), "configmap/one serverside-applied")
		want(t, run(t, object, "apply", "-f", "-"), "configmap/one")
		want(t, run(t, "", "get", "cm", "one", "-o", "jsonpath={.data.a}"), "b")
		want(t, run(t, "", "delete", "cm", "one"), "deleted")
	})
	t.Run("whoami", func(t *testing.T) { want(t, run(t, "", "auth", "whoami"), "admin@example.com") })
	t.Run("logs", func(t *testing.T) {
		// A pod runs before its program has written.
		eventually.For(t, limit, "the first line", func() error {
			if out := run(t, "", "logs", "talker"); !strings.Contains(out, "begin\n") {
				return fmt.Errorf("the log is %q", out)
			}
			return nil
		})
	})
	for name, spdy := range map[string]string{"websocket": "true", "SPDY": "false"} {
		t.Run("exec by "+name, func(t *testing.T) {
			cmd := b.kubectl(config, "-n", namespace, "exec", "-i", "talker", "--", "sh", "-c", "cat; echo err >&2; exit 3")
			cmd.Env = append(os.Environ(), "KUBECTL_REMOTE_COMMAND_WEBSOCKETS="+spdy)
			cmd.Stdin = strings.NewReader("all of it\n")
			out, err := cmd.CombinedOutput()
			if err == nil || cmd.ProcessState.ExitCode() != 3 {
				t.Errorf("ended with %v, want exit code 3", err)
			}
			want(t, string(out), "all of it\n")
			want(t, string(out), "err\n")
		})
	}
	t.Run("cp there and back", func(t *testing.T) {
		from, back := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "back")
		content := strings.Repeat("0123456789abcdef", 64<<10)
		if err := os.WriteFile(from, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		run(t, "", "cp", from, "talker:/tmp/copied")
		run(t, "", "cp", "talker:/tmp/copied", back)
		got, err := os.ReadFile(back)
		if err != nil || string(got) != content {
			t.Errorf("%d bytes came back, %v; want %d", len(got), err, len(content))
		}
	})
	t.Run("attach and follow", func(t *testing.T) {
		logs := b.kubectl(config, "-n", namespace, "logs", "-f", "talker")
		out, err := logs.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := logs.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = logs.Process.Kill(); _ = logs.Wait() }()
		lines := bufio.NewScanner(out)
		lines.Scan()
		attach := b.kubectl(config, "-n", namespace, "attach", "-i", "talker")
		stdin, err := attach.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := attach.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = attach.Process.Kill(); _ = attach.Wait() }()
		if _, err := io.WriteString(stdin, "word\n"); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			if lines.Text() == "got word" {
				return
			}
		}
		t.Error("the log ended without the word")
	})
	t.Run("watch", func(t *testing.T) {
		watch := b.kubectl(config, "-n", namespace, "get", "cm", "watched", "-w", "-o", "name", "--ignore-not-found")
		run(t, "", "create", "cm", "watched")
		out, err := watch.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := watch.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = watch.Process.Kill(); _ = watch.Wait() }()
		lines := bufio.NewScanner(out)
		if !lines.Scan() || lines.Text() != "configmap/watched" {
			t.Fatalf("first line %q", lines.Text())
		}
		run(t, "", "label", "cm", "watched", "a=b")
		if !lines.Scan() || lines.Text() != "configmap/watched" {
			t.Errorf("the change came as %q", lines.Text())
		}
	})
	t.Run("port-forward", func(t *testing.T) {
		b.page(namespace, "page", "from the pod")
		forward := b.kubectl(config, "-n", namespace, "port-forward", "--address=127.0.0.1", "pod/page", ":8080")
		out, err := forward.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := forward.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = forward.Process.Kill(); _ = forward.Wait() }()
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		_, address, _ := strings.Cut(line, "from ")
		address, _, _ = strings.Cut(address, " ")
		eventually.For(t, limit, "the forwarded port", func() error {
			response, err := http.Get("http://" + address + "/")
			if err != nil {
				return err
			}
			defer response.Body.Close()
			if body := readAll(response.Body); body != "from the pod" {
				return fmt.Errorf("got %s", body)
			}
			return nil
		})
	})
	t.Run("proxy", func(t *testing.T) {
		proxy := b.kubectl(config, "proxy", "--port=0", "--append-server-path")
		out, err := proxy.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := proxy.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = proxy.Process.Kill(); _ = proxy.Wait() }()
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		address := strings.TrimSpace(line[strings.LastIndex(line, " "):])
		eventually.For(t, limit, "the local proxy", func() error {
			response, err := http.Get("http://" + address + "/version")
			if err != nil {
				return err
			}
			defer response.Body.Close()
			if body := readAll(response.Body); !strings.Contains(body, "gitVersion") {
				return fmt.Errorf("got %s", body)
			}
			return nil
		})
	})
}
