package terraform_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/hubtest"
)

// programs are terraform and, with AXLE_SOAK=1, an OpenTofu that is built first.
func programs(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{"terraform": "terraform"}
	if os.Getenv("AXLE_SOAK") != "" {
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Minute)
		defer cancel()
		out, err := exec.CommandContext(ctx, "./opentofu.sh").Output()
		if err != nil {
			t.Fatalf("build OpenTofu: %v\n%s", err, out)
		}
		_, dir, _ := strings.Cut(string(out), "ready in ")
		all["tofu"] = filepath.Join(strings.TrimSpace(dir), "tofu")
	}
	return all
}

// TestInitFindsTheProviderAtTheHub by the registry protocol, and then by the mirror. What
// it finds goes through a life: make, nothing to change, and destroy.
func TestInitFindsTheProviderAtTheHub(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{Hub: hubtest.HubConfig{DevCA: true, TerraformProviders: providerFolder(t)}})
	address, err := url.Parse(h.URL)
	if err != nil {
		t.Fatal(err)
	}
	for name, program := range programs(t) {
		for source, config := range map[string]string{"localhost:" + address.Port() + "/axle-cd/axle": "", "axle-cd/axle": mirrorOf(h)} {
			t.Run(name+" "+source, func(t *testing.T) {
				r := start(t, h, config)
				r.program = program
				r.write("main.tf", fmt.Sprintf(`
terraform {
  required_providers {
    axle = {
      source  = %q
      version = "~> 1.4"
    }
  }
}
variable "password" {
  type      = string
  ephemeral = true
}
ephemeral "axle_token" "run" {
  name = "of this run"
}
resource "axle_service_context" "x" {
  name               = "x"
  secrets_wo         = { password = var.password, token = ephemeral.axle_token.run.token }
  secrets_wo_version = 1
}
data "axle_projects" "all" {}
output "projects" {
  value = length(data.axle_projects.all.projects)
}
output "handle" {
  value = provider::axle::handle("Prod EU")
}
`, source))
				out := r.terraform("init", "-no-color")
				if hosted := config == ""; !strings.Contains(out, "v"+version) || strings.Contains(out, "signed, key ID") != hosted {
					t.Errorf("init says %s", out)
				}
				lock, err := os.ReadFile(filepath.Join(r.dir, ".terraform.lock.hcl"))
				if err != nil || !strings.Contains(string(lock), "h1:") || config == "" && !strings.Contains(string(lock), "zh:") {
					t.Errorf("the lock file is %s, %v", lock, err)
				}
				if out := r.terraform("apply", "-auto-approve", "-no-color"); !strings.Contains(out, `handle = "prod-eu"`) {
					t.Errorf("the apply says %s", out)
				}
				if out := r.terraform("plan", "-no-color", "-detailed-exitcode"); !strings.Contains(out, "No changes") {
					t.Errorf("the second plan is %s", out)
				}
				r.terraform("destroy", "-auto-approve", "-no-color")
				secrecy(t, r)
			})
		}
	}
}
