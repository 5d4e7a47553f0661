package install_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/cli/install"
)

// images are the references of a manifest: fields, and flags of programs.
var images = regexp.MustCompile(`(?m)(?:^\s*(?:- )?image: |--[a-z-]*image=|AXLE_AGENT_IMAGE\n\s*value: )"?([^"\s]+)`)

// One value sends every image of both charts to another registry, where axle bundle push
// has put them under the same names.
func TestOneValueSendsEveryImageElsewhere(t *testing.T) {
	const registry = "registry.test:5000/mirror"
	files, err := filepath.Glob(examples + "/*.yaml")
	must(t, err)
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		values := map[string]any{}
		must(t, yaml.Unmarshal(text, &values))
		global, _ := values["global"].(map[string]any)
		if global == nil {
			global = map[string]any{}
		}
		global["registry"] = registry
		values["global"] = global
		r, err := install.Render(t.Context(), install.Request{Release: "axle", Namespace: "axle", Values: values, Revision: 1})
		must(t, err)
		texts[file] = r.Manifest
		for _, hook := range r.Hooks {
			texts[file] += hook.Manifest + "\n"
		}
	}
	out, err := exec.CommandContext(t.Context(), helmProgram(t), "template", "axle-agent", "../../deploy/charts/axle-agent", "--set", "hubUrl=https://a.test,token=t,global.registry="+registry).Output()
	must(t, err)
	texts["axle-agent"] = string(out)
	for file, text := range texts {
		found := images.FindAllStringSubmatch(text, -1)
		if len(found) < 2 {
			t.Errorf("%s: only %d images were found", file, len(found))
		}
		for _, image := range found {
			if !strings.HasPrefix(image[1], registry+"/axle-cd/") && !strings.HasPrefix(image[1], registry+"/library/postgres:") {
				t.Errorf("%s takes %s", file, image[1])
			}
		}
		if strings.Contains(text, "ghcr.io") || strings.Contains(text, "docker.io") {
			t.Errorf("%s still names a public registry", file)
		}
	}
}
