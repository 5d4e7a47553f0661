package hub_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub"
	"github.com/axle-cd/axle/internal/errcode"
)

// TestAHubNeedsGit checks that a hub without git does not start, and says that
// git is missing.
func TestAHubNeedsGit(t *testing.T) {
	for name, tt := range map[string]struct{ git, says string }{
		"none":      {"", "finds no git"},
		"too old":   {"#!/bin/sh\necho git version 2.30.2\n", "2.30.2"},
		"broken":    {"#!/bin/sh\necho cannot load libpcre >&2\nexit 127\n", "cannot load libpcre"},
		"not git":   {"#!/bin/sh\necho hello\n", "hello"},
		"of Apple":  {"#!/bin/sh\necho 'git version 2.36.1 (Apple Git-154)'\n", "2.36.1"},
		"too young": {"#!/bin/sh\necho git version 1.99.9\n", "1.99.9"},
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			if tt.git != "" {
				if err := os.WriteFile(filepath.Join(path, "git"), []byte(tt.git), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("PATH", path)
			h, err := hub.New(hub.Config{DataDir: t.TempDir(), Listen: "127.0.0.1:0", InsecureHTTP: true})
			if err == nil {
				t.Fatalf("the hub starts: %v", h.Close())
			}
			for _, want := range []string{"git 2.37", tt.says} {
				if !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), want) {
					t.Errorf("%v (%s), want %q", err, errcode.Of(err), want)
				}
			}
		})
	}
}
