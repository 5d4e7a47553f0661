package attack

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/axle-cd/axle/test/bin"
)

var tags = Attack{
	Class: "A3", Name: "tags", Needs: API,
	Story: "Somebody who may write a cluster gives it the tag of production, and wants what is delivered to production, with its secrets.",
	Play: func(p *Play) string {
		mallory := p.project("lab")
		p.newCluster("mine", "lab", "")
		return p.tagged(func() {
			mallory.call("Clusters/Update", `{"name": "<<mine>>", "setTags": true, "tags": {"<<tier>>": "prod"}}`)
		})
	},
}

var tagsByAnObject = Attack{
	Class: "A3", Name: "tags-by-an-object", Needs: Operator,
	Story: "The same by a Cluster object, in the namespace of a team whose account may write its own project only.",
	Play: func(p *Play) string {
		p.project("lab")
		p.newCluster("mine", "lab", "")
		p.tenant("team", "lab")
		return p.tagged(func() {
			p.apply(`{apiVersion: deployments.plural.sh/v1alpha1, kind: Cluster, metadata: {name: mine, namespace: <<team>>}, spec: {handle: <<mine>>, tags: {<<tier>>: prod}}}`)
			if status, message := p.synchronized("clusters.deployments.plural.sh", "<<team>>", "mine"); status != "True" {
				p.fail("the object does not set tags: %s", message)
			}
		})
	},
}

var tagsByTerraform = Attack{
	Class: "A3", Name: "tags-by-terraform", Needs: Bed,
	Story: "The same by Terraform, which makes the cluster with the tag, with the token of somebody who may create clusters in a project.",
	Play: func(p *Play) string {
		mallory := p.project("lab")
		return p.tagged(func() {
			p.terraform(mallory.token, `resource "axle_cluster" "mine" {
				name    = "<<mine>>"
				project = "<<lab>>"
				tags    = { "<<tier>>" = "prod" }
			}`)
		})
	},
}

// tagged lets mallory tag the cluster mine, and returns what was got if what the whole
// fleet of the tag gets goes there.
func (p *Play) tagged(tag func()) string {
	p.admin().must("Repositories/Create", `{"name": "<<git>>", "url": "https://git.example.com/x.git"}`)
	p.later("Repositories/Delete", `{"name": "<<git>>"}`)
	p.admin().must("GlobalServices/Apply", `{"name": "<<vpn>>", "settings": {"tags": {"<<tier>>": "prod"}, "cascade": "detach"}, "spec": {"repository": "<<git>>", "git": {"ref": "main"}, "secrets": {"key": "hunter2"}}}`)
	p.later("GlobalServices/Delete", `{"name": "<<vpn>>"}`)
	tag()
	if a := p.admin().must("Clusters/Get", `{"name": "<<mine>>"}`); !strings.Contains(a.text, p.my("tier")) {
		p.fail("the cluster has no such tag: %.300s", a.text)
	}
	p.project("shop")
	p.newCluster("prod", "shop", `, "tags": {"<<tier>>": "prod"}`)
	has := func(cluster string) bool {
		return p.admin().call("Services/Get", `{"ref": {"cluster": "<<%s>>", "name": "<<vpn>>"}}`, cluster).ok()
	}
	// The cluster that an administrator tagged later is reached later.
	p.either("the cluster of production has the service", func() string { return map[bool]string{true: "yes"}[has("prod")] }, "yes")
	if has("mine") {
		return "the fleet's service and its secret go to the stranger's cluster"
	}
	return ""
}

// terraform applies a configuration with our provider and somebody's token.
func (p *Play) terraform(token, config string) {
	provider, err := bin.Path(p.ctx, "terraform-provider-axle", bin.Options{})
	if err != nil {
		p.fail("%w", err)
	}
	dir, err := os.MkdirTemp(p.Bed.world.Dir, "terraform-*")
	if err != nil {
		p.fail("%w", err)
	}
	for name, text := range map[string]string{
		"terraform.rc": fmt.Sprintf("provider_installation {\n dev_overrides { \"axle-cd/axle\" = %q }\n direct {}\n}\n", filepath.Dir(provider)),
		"main.tf":      "terraform {\n required_providers {\n axle = { source = \"axle-cd/axle\" }\n }\n}\n" + p.fill(config),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			p.fail("%w", err)
		}
	}
	run := exec.CommandContext(p.ctx, "terraform", "apply", "-auto-approve", "-no-color")
	run.Dir = dir
	run.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(dir, "terraform.rc"), "TF_INPUT=0", "CHECKPOINT_DISABLE=1",
		"AXLE_HUB_URL="+p.URL, "AXLE_TOKEN="+token, "AXLE_CONFIG="+filepath.Join(dir, "none.yaml"))
	if out, err := run.CombinedOutput(); err != nil {
		p.fail("terraform apply: %w: %s", err, out)
	}
}
