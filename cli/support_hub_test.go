package cli_test

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// bundled returns the files of a support bundle.
func bundled(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(unpacked); ; {
		header, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(header.Name, "axle-support/")] = string(text)
	}
}

// A support bundle has what the hub says, and none of the secrets that were given to it.
func TestSupportBundle(t *testing.T) {
	s := newShell(t)
	const canary = "canary-0123456789"
	secret := filepath.Join(s.dir, "secret")
	if err := os.WriteFile(secret, []byte(canary), 0o600); err != nil {
		t.Fatal(err)
	}
	s.exits(0, "clusters create edge-1")
	s.exits(0, "repos add fleet https://git.invalid/fleet --timeout 0 --username ann --password-file "+secret)
	s.exits(0, "services create edge-1/web --repo fleet --ref main --folder web --var password="+canary+" --secret-file key="+secret)
	s.exits(0, "notifications sinks create ops --type WEBHOOK --url-file "+secretURL(t, s.dir, canary))
	file := filepath.Join(s.dir, "bundle.tar.gz")
	s.exits(0, "hub support-bundle --file "+file, file)
	files := bundled(t, file)
	for name, says := range map[string]string{
		"README.txt": "Support bundle", "hub/status.json": `"replicas"`, "hub/clusters.json": "edge-1", "hub/repositories.json": "git.invalid",
		"hub/services.json": `"name":"web"`, "hub/notification-sinks.json": "ops", "hub/events.json": "service.created", "hub/agents.json": "{",
	} {
		if !strings.Contains(files[name], says) {
			t.Errorf("%s does not have %s: %.300s", name, says, files[name])
		}
	}
	if errs := strings.TrimSpace(files["errors.txt"]); errs != "" {
		t.Errorf("left out: %s", errs)
	}
	for name, text := range files {
		if strings.Contains(text, canary) || strings.Contains(text, os.Getenv("AXLE_TOKEN")) {
			t.Errorf("%s has a secret: %s", name, text)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the bundle is readable by others: %v, %v", info, err)
	}

	// Who may read little gets little, and is told what is missing.
	s.exits(0, "serviceaccounts create lone")
	_, token, _ := s.run("serviceaccounts token lone --scope read")
	t.Setenv("AXLE_TOKEN", strings.TrimSpace(token))
	s.exits(0, "hub support-bundle --file "+file)
	if files = bundled(t, file); strings.Contains(files["hub/services.json"], "web") || strings.Contains(files["hub/clusters.json"], "edge-1") {
		t.Errorf("a stranger sees %s %s", files["hub/services.json"], files["hub/clusters.json"])
	}
}

func secretURL(t *testing.T, dir, secret string) string {
	t.Helper()
	file := filepath.Join(dir, "url")
	if err := os.WriteFile(file, []byte("https://hooks.invalid/"+secret), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
