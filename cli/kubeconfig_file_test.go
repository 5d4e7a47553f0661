package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/cli"
	"github.com/axle-cd/axle/cli/exitcode"
)

// credentialHub gives everybody a credential; a double for files only.
type credentialHub struct {
	hubv1connect.UnimplementedClusterAPIHandler
	server string
}

func (h *credentialHub) CreateCredential(_ context.Context, r *connect.Request[hubv1.CreateClusterCredentialRequest]) (*connect.Response[hubv1.ClusterCredential], error) {
	return connect.NewResponse(&hubv1.ClusterCredential{Token: "axle_k8s_short", Server: h.server + "/k8s/clusters/" + r.Msg.GetCluster(), CaPem: "CA"}), nil
}

func (h *credentialHub) start(t *testing.T) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(hubv1connect.NewClusterAPIHandler(h))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	h.server = "https://axle.example.com"
	t.Setenv("AXLE_CONFIG", filepath.Join(t.TempDir(), "config.yaml"))
	t.Setenv("AXLE_HUB_URL", s.URL)
	t.Setenv("AXLE_TOKEN", "token")
}

func axle(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = cli.Run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return code, stdout.String(), stderr.String()
}

const oldKubeconfig = `apiVersion: v1
clusters:
- cluster:
    certificate-authority: pki/ca.crt
    server: https://old.example.com
  name: old
contexts:
- context:
    cluster: old
    namespace: shop
    user: old
  name: old
current-context: old
extensions:
- extension:
    theme: dark
  name: lens
kind: Config
users:
- name: old
  user:
    client-certificate: pki/me.crt
    client-key: pki/me.key
`

// TestMergedKubeconfigKeepsTheRest merges into a file with typical content of users:
// a link, a mode that is too wide, relative paths.
func TestMergedKubeconfigKeepsTheRest(t *testing.T) {
	(&credentialHub{}).start(t)
	dir := t.TempDir()
	real, path := filepath.Join(dir, "dotfiles"), filepath.Join(dir, "config")
	if err := os.WriteFile(real, []byte(oldKubeconfig), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, path); err != nil {
		t.Fatal(err)
	}
	// The first that exists is the one; what another holds is not looked at.
	t.Setenv("KUBECONFIG", filepath.Join(dir, "gone")+string(os.PathListSeparator)+path)
	for range 2 { // again, with a new credential
		if code, _, errs := axle(t, "clusters", "kubeconfig", "edge", "--output", "merge"); code != 0 {
			t.Fatalf("exit %d: %s", code, errs)
		}
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if info, err = os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, %v; want 0600", info.Mode(), err)
	}
	before, err := clientcmd.Load([]byte(oldKubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	after, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if after.CurrentContext != "edge" || after.Clusters["edge"].Server != "https://axle.example.com/k8s/clusters/edge" || after.AuthInfos["edge"].Token != "axle_k8s_short" {
		t.Errorf("the new context is %+v", after.Clusters["edge"])
	}
	delete(after.Clusters, "edge")
	delete(after.AuthInfos, "edge")
	delete(after.Contexts, "edge")
	after.CurrentContext = "old"
	was, err := clientcmd.Write(*before)
	if err != nil {
		t.Fatal(err)
	}
	is, err := clientcmd.Write(*after)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(was), string(is)); diff != "" {
		t.Errorf("the rest changed (-was +is):\n%s", diff)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 2 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

// TestMergedKubeconfigTakesNothingAway: a name of another cluster stays with that
// cluster, and a file that is not a kubeconfig stays unchanged.
func TestMergedKubeconfigTakesNothingAway(t *testing.T) {
	(&credentialHub{}).start(t)
	locked := func(path string) error { return os.WriteFile(path+".lock", nil, 0o600) }
	tests := map[string]struct {
		text  string
		args  []string
		first func(path string) error
		code  int
		says  string
	}{
		"a cluster of that name":  {oldKubeconfig, []string{"old"}, nil, exitcode.Clash, "cluster old already exists with server https://old.example.com"},
		"a user of that name":     {strings.ReplaceAll(oldKubeconfig, "- name: old", "- name: edge"), []string{"edge"}, nil, exitcode.Clash, "user edge already exists"},
		"another name for it":     {oldKubeconfig, []string{"old", "--name", "new"}, nil, 0, "context new"},
		"what is no kubeconfig":   {"this: [is, no", []string{"edge"}, nil, 1, "read "},
		"one that another writes": {oldKubeconfig, []string{"edge"}, locked, exitcode.Clash, "is locked by another program"},
		"none yet":                {"", []string{"edge"}, nil, 0, "context edge"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "kube", "config")
			t.Setenv("KUBECONFIG", path)
			if c.text != "" {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if c.first != nil {
				if err := c.first(path); err != nil {
					t.Fatal(err)
				}
			}
			code, _, errs := axle(t, append([]string{"clusters", "kubeconfig", "--output", "merge"}, c.args...)...)
			if code != c.code || !strings.Contains(errs, c.says) {
				t.Errorf("exit %d: %s; want %d and %q", code, errs, c.code, c.says)
			}
			text, err := os.ReadFile(path)
			if err != nil || c.code != 0 && string(text) != c.text {
				t.Errorf("the file is now\n%s(%v)", text, err)
			}
		})
	}
}

// TestKubeconfigsMergedAtOnceAreAllThere: concurrent merges lose nothing.
func TestKubeconfigsMergedAtOnceAreAllThere(t *testing.T) {
	(&credentialHub{}).start(t)
	path := filepath.Join(t.TempDir(), "config")
	t.Setenv("KUBECONFIG", path)
	const count = 8
	var all sync.WaitGroup
	for i := range count {
		all.Go(func() {
			if code, _, errs := axle(t, "clusters", "kubeconfig", fmt.Sprintf("c%d", i), "--output", "merge"); code != 0 {
				t.Errorf("exit %d: %s", code, errs)
			}
		})
	}
	all.Wait()
	config, err := clientcmd.LoadFromFile(path)
	if err != nil || len(config.Contexts) != count {
		t.Errorf("%d contexts, %v; want %d", len(config.Contexts), err, count)
	}
}

// TestKubeconfigIsWrittenWhole: to a file that only its owner can read, even if the
// file had another mode, and to paths that are not regular files.
func TestKubeconfigIsWrittenWhole(t *testing.T) {
	(&credentialHub{}).start(t)
	path := filepath.Join(t.TempDir(), "edge.yaml")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := axle(t, "clusters", "kubeconfig", "edge", "--output", path); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	config, err := clientcmd.LoadFromFile(path)
	if err != nil || config.CurrentContext != "edge" {
		t.Errorf("context %v, %v", config, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, %v; want 0600", info.Mode(), err)
	}
	pipe, got := filepath.Join(t.TempDir(), "pipe"), make(chan string, 1)
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		text, _ := os.ReadFile(pipe)
		got <- string(text)
	}()
	if code, _, errs := axle(t, "clusters", "kubeconfig", "edge", "--output", pipe); code != 0 {
		t.Errorf("to a pipe: exit %d: %s", code, errs)
	}
	if info, err := os.Stat(pipe); err != nil || info.Mode().IsRegular() {
		t.Fatalf("the pipe is a file now: %v, %v", info, err)
	}
	if text := <-got; !strings.Contains(text, "current-context: edge") {
		t.Errorf("the pipe gave %s", text)
	}
	if code, out, _ := axle(t, "clusters", "kubeconfig", "edge"); code != 0 || !strings.Contains(out, "current-context: edge") {
		t.Errorf("standard output: exit %d, %s", code, out)
	}
}

// kubectl sends no credential over plain HTTP: a request for a kubeconfig there gets
// an error that says what to do.
func TestPlainHTTPIsNoWayForKubectl(t *testing.T) {
	h := &credentialHub{}
	h.start(t)
	for server, warned := range map[string]bool{"http://127.0.0.1:8080": true, "https://127.0.0.1:8080": false} {
		h.server = server
		for name, args := range map[string][]string{
			"a credential": {"clusters", "kubeconfig", "edge"},
			"a plugin":     {"clusters", "kubeconfig", "edge", "--exec-plugin"},
		} {
			if code, out, errs := axle(t, args...); code != 0 || out == "" || strings.Contains(errs, "--dev-ca") != warned {
				t.Errorf("%s over %s: exit %d: %s%s", name, server, code, out, errs)
			}
		}
	}
}
