package bundle_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/cli/bundle"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/test/registryserver"
)

const coreComponent = "kind: Namespace\n"

// Component files are read by digest from wherever a release is.
func TestComponentsAreReadByDigest(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	dir := newRelease(t, nil)
	packed := filepath.Join(t.TempDir(), "b.tar")
	must(t, "create", packed, "--from", dir, "--insecure-unsigned")
	registry := registryserver.Start(false)
	defer registry.Close()
	must(t, "push", packed, registry.Host(), "--insecure-unsigned", "--plain-http")
	bare := t.TempDir()
	if err := os.WriteFile(filepath.Join(bare, "core.yaml"), []byte(coreComponent), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &command.App{Streams: command.Streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}, Getenv: func(string) string { return "" }, Now: time.Now}
	sum := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	for name, from := range map[string]string{"a folder of a release": dir, "a bundle": packed, "a registry": registry.Host(), "a folder of files": bare} {
		c, err := bundle.OpenComponents(t.Context(), a, from, true)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if data, err := c.Read(t.Context(), "core", sum(coreComponent), int64(len(coreComponent))); string(data) != coreComponent || err != nil {
			t.Errorf("%s: %q, %v", name, data, err)
		}
		if data, err := c.Read(t.Context(), "core", sum("another"), 7); err == nil || !strings.Contains(err.Error(), "component file core in "+from) {
			t.Errorf("%s has what nobody made: %q, %v", name, data, err)
		}
	}
	if _, err := bundle.OpenComponents(t.Context(), a, "./nowhere", true); err == nil {
		t.Error("a folder that is not there is opened")
	}
}
