package clusterapi

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/componentlist"
	"github.com/axle-cd/axle/internal/errcode"
)

// have is a component of version v2.10.0 on a management cluster that has another version of it.
func have(name, installed, digest, registry string) Component {
	c := Component{Component: componentlist.Component{Name: name, Version: "v2.10.0", Digest: "new"}, Installed: installed, Registry: registry}
	c.View.Spec.Configuration = map[string]string{fileKey: digest, registryKey: registry}
	return c
}

func TestAnInstallationBringsAllToTheVersionsOfTheHub(t *testing.T) {
	mirror, none := "mirror.example.com/x", ""
	for name, c := range map[string]struct {
		core, docker, aws Component
		ask               Installation
		want              string
	}{
		"nothing is there":              {have("core", "", "", ""), have("infrastructure-docker", "", "", ""), have("infrastructure-aws", "", "", ""), Installation{Provider: "docker"}, "core install , infrastructure-docker install "},
		"all is there":                  {have("core", "v2.10.0", "new", ""), have("infrastructure-docker", "v2.10.0", "new", ""), have("infrastructure-aws", "", "", ""), Installation{Provider: "docker"}, "core  , infrastructure-docker  "},
		"an older version":              {have("core", "v2.9.9", "old", ""), have("infrastructure-docker", "v2.10.0", "new", ""), have("infrastructure-aws", "", "", ""), Installation{Provider: "docker"}, "core upgrade , infrastructure-docker  "},
		"another provider comes along":  {have("core", "v2.9.9", "old", ""), have("infrastructure-docker", "v2.9.9", "old", ""), have("infrastructure-aws", "", "", ""), Installation{Provider: "aws"}, "core upgrade , infrastructure-docker upgrade , infrastructure-aws install "},
		"another file of the version":   {have("core", "v2.10.0", "old", ""), have("infrastructure-docker", "v2.10.0", "new", ""), have("infrastructure-aws", "", "", ""), Installation{Provider: "docker"}, "core change , infrastructure-docker  "},
		"another registry":              {have("core", "v2.10.0", "new", ""), have("infrastructure-docker", "v2.10.0", "new", ""), have("infrastructure-aws", "", "", ""), Installation{Provider: "docker", Registry: &mirror}, "core change mirror.example.com/x, infrastructure-docker change mirror.example.com/x"},
		"the registry stays":            {have("core", "v2.10.0", "new", mirror), have("infrastructure-docker", "v2.10.0", "new", mirror), have("infrastructure-aws", "", "", ""), Installation{Provider: "docker"}, "core  mirror.example.com/x, infrastructure-docker  mirror.example.com/x"},
		"the registry is unset":         {have("core", "v2.10.0", "new", mirror), have("infrastructure-docker", "v2.10.0", "new", mirror), have("infrastructure-aws", "", "", ""), Installation{Provider: "docker", Registry: &none}, "core change , infrastructure-docker change "},
		"a newer version is there":      {have("core", "v2.11.0", "newer", ""), have("infrastructure-docker", "v2.10.0", "new", ""), have("infrastructure-aws", "", "", ""), Installation{Provider: "docker"}, "! core v2.11.0 is installed, and this hub has v2.10.0"},
		"a newer one of another":        {have("core", "v2.10.0", "new", ""), have("infrastructure-docker", "v2.10.1", "newer", ""), have("infrastructure-aws", "", "", ""), Installation{Provider: "aws"}, "! infrastructure-docker v2.10.1 is installed"},
		"a version that the hub has":    {have("core", "", "", ""), have("infrastructure-docker", "", "", ""), have("infrastructure-aws", "", "", ""), Installation{Provider: "docker", Version: "v2.10.0"}, "core install , infrastructure-docker install "},
		"a version that it does not":    {have("core", "", "", ""), have("infrastructure-docker", "", "", ""), have("infrastructure-aws", "", "", ""), Installation{Provider: "docker", Version: "v2.9.0"}, "! version: this hub installs docker v2.10.0"},
		"a provider that it does not":   {have("core", "", "", ""), have("infrastructure-docker", "", "", ""), have("infrastructure-aws", "", "", ""), Installation{Provider: "core"}, "! provider: this hub has no provider \"core\"; it has aws, docker"},
		"a registry that is an address": {have("core", "", "", ""), have("infrastructure-docker", "", "", ""), have("infrastructure-aws", "", "", ""), Installation{Provider: "docker", Registry: new("a.example.com/x\nimage: b")}, "! registry: "},
	} {
		plan, err := planned([]Component{c.core, c.docker, c.aws}, c.ask)
		var texts []string
		for _, one := range plan {
			texts = append(texts, one.Name+" "+one.Action+" "+one.Registry)
		}
		got := strings.Join(texts, ", ")
		if err != nil {
			got = "! " + err.Error()
		}
		if got != c.want && (err == nil || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

func TestAnImageIsRewrittenOnce(t *testing.T) {
	text := "containers:\n- image: registry.example.com/capi/core:v1.2.3\n  name: manager\n"
	c := Component{Component: componentlist.Component{Name: "core", Version: "v1.2.3", Image: "registry.example.com/capi/core", Digest: fmt.Sprintf("%x", sha256.Sum256([]byte(text)))}, Registry: "mirror.example.com:5000/x"}
	got, err := c.text(map[string][]byte{"core.yaml": []byte(text)})
	if want := strings.Replace(text, "registry.example.com/", "mirror.example.com:5000/x/", 1); got != want || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	twice := text + text
	c.Digest = fmt.Sprintf("%x", sha256.Sum256([]byte(twice)))
	if _, err := c.text(map[string][]byte{"core.yaml": []byte(twice)}); !errcode.Is(err, errcode.Internal) {
		t.Errorf("a file with two images: %v", err)
	}
}

// tableOf is a Table with objects that services of these ids have, empty for nobody's.
func tableOf(services ...string) string {
	var rows []string
	for n, id := range services {
		rows = append(rows, fmt.Sprintf(`{"object": {"metadata": {"name": "o%d", "namespace": "ns", "annotations": {"axle-cd.github.io/service": %q}}}}`, n, id))
	}
	return `{"kind": "Table", "rows": [` + strings.Join(rows, ",") + `]}`
}

func TestWhatSomebodyElseInstalledIsInTheWay(t *testing.T) {
	const certManager, definition, providers = definitionPath + "certificates.cert-manager.io", definitionPath + "clusters.cluster.x-k8s.io", "/apis/clusterctl.cluster.x-k8s.io/v1alpha3/providers?limit=100"
	ours := Component{View: fleet.ServiceView{Service: fleet.Service{ID: "svc-ours"}}}
	for name, c := range map[string]struct {
		answers map[string]string
		want    string
	}{
		"an empty cluster":               {map[string]string{certManager: tableOf("")}, ""},
		"no cert-manager":                {map[string]string{}, "no cert-manager"},
		"ours":                           {map[string]string{certManager: tableOf(""), definition: tableOf("svc-ours"), managersPath: tableOf("svc-ours", "svc-ours")}, ""},
		"another definition":             {map[string]string{certManager: tableOf(""), definition: tableOf("")}, "definition ns/o0"},
		"another service's":              {map[string]string{certManager: tableOf(""), managersPath: tableOf("svc-ours", "svc-other")}, "did not install: Deployment ns/o1."},
		"clusterctl's":                   {map[string]string{certManager: tableOf(""), definitionPath + inventory: tableOf(""), providers: tableOf("", "")}, "provider of clusterctl ns/o0, provider of clusterctl ns/o1."},
		"an inventory that is empty":     {map[string]string{certManager: tableOf(""), definitionPath + inventory: tableOf(""), providers: tableOf()}, ""},
		"many":                           {map[string]string{certManager: tableOf(""), managersPath: tableOf("", "", "", "", "", "", "")}, "ns/o4, 2 more."},
		"a look that is not allowed":     {map[string]string{certManager: "forbidden"}, "cannot look whether cluster mgmt has"},
		"a list that is not allowed":     {map[string]string{certManager: tableOf(""), managersPath: "forbidden"}, "cannot look whether cluster mgmt has"},
		"an answer that is not a Table":  {map[string]string{certManager: tableOf(""), managersPath: "<html>"}, "is not a Table"},
		"an answer that is a bomb":       {map[string]string{certManager: tableOf(""), managersPath: `{"rows": [` + strings.Repeat("0,", 400_000) + `0]}`}, "is not a Table"},
		"names that end an error's line": {map[string]string{certManager: tableOf(""), managersPath: `{"rows": [{"object": {"metadata": {"name": "a\nb"}}}]}`}, "Deployment a b."},
	} {
		err := (ground{"mgmt", []Component{ours, {}}}).check(t.Context(), func(_ context.Context, path string) ([]byte, error) {
			switch text, ok := c.answers[path]; {
			case !ok:
				return nil, errcode.New(errcode.NotFound, "Error from server (NotFound): %s", path)
			case text == "forbidden":
				return nil, errcode.New(errcode.Forbidden, "Error from server (Forbidden): %s", path)
			default:
				return []byte(text), nil
			}
		})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
}
