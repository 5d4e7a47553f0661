package terraform_test

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/agent/agenttest"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/kube"
)

const (
	version = "1.4.2"
	limit   = 90 * time.Second
	// planted is a secret that no file may have.
	planted = "planted-password-2718"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// providerFolder is a folder with the zip file of the provider, as a release has it.
func providerFolder(t *testing.T) string {
	t.Helper()
	program, err := bin.Path(t.Context(), "terraform-provider-axle", bin.Options{Version: version})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "terraform-provider-axle_"+version+"_linux_amd64.zip"))
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(file)
	header := &zip.FileHeader{Name: "terraform-provider-axle_v" + version, Method: zip.Store}
	header.SetMode(0o755)
	entry, err := w.CreateHeader(header)
	if err == nil {
		_, err = entry.Write(data)
	}
	if err := errors.Join(err, w.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

type run struct {
	t       *testing.T
	program string
	dir     string
	env     []string
}

func (r *run) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(r.t.Context(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, r.program, args...)
	c.Dir, c.Env = r.dir, r.env
	out, err := c.CombinedOutput()
	return string(out), err
}

func (r *run) terraform(args ...string) string {
	r.t.Helper()
	out, err := r.try(args...)
	if err != nil {
		r.t.Fatalf("%s %s: %v\n%s", r.program, strings.Join(args, " "), err, out)
	}
	return out
}

func (r *run) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func start(t *testing.T, h *hubtest.Hub, config string) *run {
	t.Helper()
	r := &run{t: t, program: "terraform", dir: t.TempDir()}
	r.write("terraform.rc", config)
	r.env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(r.dir, "terraform.rc"), "TF_IN_AUTOMATION=1", "TF_INPUT=0", "CHECKPOINT_DISABLE=1",
		"TF_LOG=TRACE", "TF_LOG_PATH="+filepath.Join(r.dir, "trace.log"), "SSL_CERT_FILE="+h.CAFile(),
		"AXLE_HUB_URL="+h.URL, "AXLE_TOKEN="+h.AdminToken, "AXLE_CA_FILE="+h.CAFile(), "TF_VAR_password="+planted)
	return r
}

func pem(t *testing.T, h *hubtest.Hub) []byte {
	t.Helper()
	text, err := os.ReadFile(h.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// runAgent is the Deployment that Terraform applied: it starts when its bootstrap token
// is there, and ends with the test.
func runAgent(t *testing.T, h *hubtest.Hub, c *kube.Cluster) {
	api, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Error(err)
		return
	}
	token := ""
	err = eventually.Wait(t.Context(), limit, func() error {
		secret, err := api.CoreV1().Secrets("axle-system").Get(t.Context(), "axle-agent-bootstrap", metav1.GetOptions{})
		if err == nil {
			token = string(secret.Data["token"])
		}
		return err
	})
	if err != nil {
		t.Errorf("the bootstrap token is not there: %v", err)
		return
	}
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		t.Error(err)
		return
	}
	a, err := agenttest.Run(t.Context(), agenttest.Config{HubURL: h.URL, Kubeconfig: c.Kubeconfig(), CAFile: h.CAFile(), BootstrapToken: token}, dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Errorf("the agent does not start: %v", err)
		return
	}
	<-t.Context().Done()
	if err := errors.Join(a.Stop(), os.RemoveAll(dir)); err != nil {
		fmt.Fprintln(os.Stderr, "an agent ended:", err)
	}
}

// mirrorOf makes terraform find the provider in a hub's mirror.
func mirrorOf(h *hubtest.Hub) string {
	return fmt.Sprintf("provider_installation {\n  network_mirror {\n    url     = \"%s/terraform/mirror/\"\n    include = [\"axle-cd/axle\"]\n  }\n  direct {\n    exclude = [\"axle-cd/axle\"]\n  }\n}\n", h.URL)
}

// fails wants an apply that ends with these texts.
func (r *run) fails(want ...string) {
	r.t.Helper()
	out, err := r.try("apply", "-auto-approve", "-no-color")
	if err == nil {
		r.t.Fatalf("the apply does not fail:\n%s", out)
	}
	flat := strings.Join(strings.Fields(out), " ")
	for _, text := range want {
		if !strings.Contains(flat, text) {
			r.t.Errorf("the apply does not say %q:\n%s", text, out)
		}
	}
}

// secrecy looks for secrets in all files of the run.
func secrecy(t *testing.T, r *run) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(r.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.Contains(path, "/.terraform/") {
			return err
		}
		text, err := os.ReadFile(path)
		files++
		for _, secret := range []string{planted, "client-key-data", "current-context"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s has %s", entry.Name(), secret)
			}
		}
		return err
	})
	if err != nil || files < 4 {
		t.Errorf("%d files, %v", files, err)
	}
}
