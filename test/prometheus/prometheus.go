// Package prometheus starts real stores of metrics for tests: Debian's Prometheus and
// VictoriaMetrics. They scrape what a test serves. The tests of hub/observe and test/proxy
// call it.
package prometheus

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/port"
)

// Exposition serves a text of metrics, as a program does.
func Exposition(t *testing.T, text func() string) (target string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(w, text())
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// Prometheus starts Prometheus, which scrapes the targets each second and keeps the labels
// that they give, and returns its URL. Listen is the address; empty is 127.0.0.1.
func Prometheus(t *testing.T, listen string, targets ...string) string {
	t.Helper()
	return started(t, listen, targets, func(dir, address, config string) *exec.Cmd {
		return exec.Command("prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--log.level=error")
	})
}

// VictoriaMetrics is Prometheus for VictoriaMetrics.
func VictoriaMetrics(t *testing.T, listen string, targets ...string) string {
	t.Helper()
	return started(t, listen, targets, func(dir, address, config string) *exec.Cmd {
		return exec.Command("victoria-metrics", "-promscrape.config="+config, "-storageDataPath="+filepath.Join(dir, "data"), "-httpListenAddr="+address,
			"-search.latencyOffset=0s", "-memory.allowedBytes=64MiB", "-loggerLevel=ERROR")
	})
}

func started(t *testing.T, listen string, targets []string, command func(dir, address, config string) *exec.Cmd) string {
	t.Helper()
	if listen == "" {
		listen = "127.0.0.1"
	}
	n, err := port.Free()
	if err != nil {
		t.Fatal(err)
	}
	dir, address := t.TempDir(), listen+":"+strconv.Itoa(n)
	config := filepath.Join(dir, "config.yml")
	text := "global: {scrape_interval: 1s}\n"
	if len(targets) > 0 {
		text += "scrape_configs:\n- job_name: test\n  honor_labels: true\n  static_configs:\n  - targets: ['" + strings.Join(targets, "', '") + "']\n"
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := command(dir, address, config)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v; make deps installs it", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		log.Close()
	})
	url, ready := "http://"+address, "/api/v1/query?query=count(up==1)%3D%3D"+strconv.Itoa(len(targets))
	if len(targets) == 0 {
		ready = "/api/v1/query?query=vector(1)"
	}
	eventually.For(t, 30e9, "samples in "+cmd.Path, func() error {
		answer, err := get(t.Context(), url+ready)
		if err == nil && !strings.Contains(answer, `"value"`) {
			said, _ := os.ReadFile(log.Name())
			err = fmt.Errorf("%s: %s", answer, said)
		}
		return err
	})
	return url
}

func get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}
