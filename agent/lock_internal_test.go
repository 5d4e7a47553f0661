package agent

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/errcode"
)

// A second agent on one data folder is refused before it touches anything, and the folder is free
// when the first ends: everything that the agent writes there relies on it.
func TestSecondAgentOnOneFolderIsRefused(t *testing.T) {
	dir := t.TempDir()
	kubeconfig, program := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "axle-render")
	for path, text := range map[string]string{kubeconfig: "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\nclusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\nusers: [{name: a, user: {}}]\n", program: "#!/bin/sh\n"} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(dir, "data")
	a, err := New(Config{HubURL: "http://127.0.0.1:1", DataDir: data, Kubeconfig: kubeconfig, RenderBinary: program, MetricsListen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := lockFolder(data)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Run(ended); !errcode.Is(err, errcode.Conflict) || !strings.Contains(err.Error(), "another agent uses the data folder "+data) {
		t.Errorf("a second agent: %v", err)
	}
	unlock()
	if err := a.Run(ended); errcode.Is(err, errcode.Conflict) {
		t.Errorf("the folder is not free: %v", err)
	}
}
