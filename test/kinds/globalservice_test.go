package kinds

import (
	"strings"
	"testing"

	"connectrpc.com/connect"
	"sigs.k8s.io/yaml"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

// TestGlobalServicesAreTakenByBoth holds that an API server and axle apply agree on the same
// GlobalServices: whichever way somebody begins with, the other one takes the files as well.
func TestGlobalServicesAreTakenByBoth(t *testing.T) {
	s, c := serve(t), newConverter(t)
	if _, err := c.client.Repositories.Create(t.Context(), connect.NewRequest(&hubv1.CreateRepositoryRequest{Name: "fleet", Url: "https://127.0.0.1:1/fleet"})); err != nil {
		t.Fatal(err)
	}
	if _, err := c.client.Clusters.Create(t.Context(), connect.NewRequest(&hubv1.CreateClusterRequest{Name: "edge-1"})); err != nil {
		t.Fatal(err)
	}
	const (
		reference = "serviceRef: {name: copied}\n"
		template  = "template: {name: web, namespace: web, repositoryRef: {name: fleet}, git: {ref: main, folder: web}}\n"
	)
	for name, test := range map[string]struct {
		spec    string
		refusal string // a part of both refusals; empty for what is taken
	}{
		"serviceRef":               {reference, ""},
		"template":                 {template, ""},
		"both":                     {reference + template, "one of the two"},
		"neither":                  {"tags: {tier: edge}", "one of the two"},
		"both, one of them empty":  {template + "serviceRef: {}", "one of the two"},
		"both, an empty template":  {reference + "template: {}", "one of the two"},
		"a template of a mistake":  {"template: {namespace: web, repository: fleet}", "repository"},
		"with its namespace":       {"serviceRef: {name: copied, namespace: " + s.namespace + "}", ""},
		"with a selection":         {template + "tags: {tier: edge}\ndistro: K3S\nmgmt: false\nignoreClusters: [edge-9]", ""},
		"a distribution of nobody": {template + "distro: MINE", "MINE"},
		"with cascade":             {template + "cascade: {delete: true}", ""},
		"with a rollout":           {reference + "rollout: {waves: ['1', 10%], soak: 10m}", ""},
		"with waves of numbers":    {reference + "rollout: {waves: [1]}", "waves"},
		"with no waves":            {template + "rollout: {waves: []}", "waves"},
		"with a wave of a word":    {template + "rollout: {waves: [some]}", "waves"},
	} {
		t.Run(name, func(t *testing.T) {
			made := object(t, s.kinds["GlobalService"], "web", test.spec)
			copied := object(t, s.kinds["ServiceDeployment"], "copied", "cluster: edge-1\nrepositoryRef: {name: fleet}\ngit: {ref: main, folder: web}")
			files := []string{"apply", "--dry-run"}
			for file, one := range map[string]map[string]any{"web.yaml": made, "copied.yaml": copied} {
				one["metadata"] = map[string]any{"name": strings.TrimSuffix(file, ".yaml"), "namespace": s.namespace}
				text, err := yaml.Marshal(one)
				if err != nil {
					t.Fatal(err)
				}
				files = append(files, "-f", c.write(file, text))
			}
			_, byApply := c.axle(files...)
			_, byCRD := s.apply(t.Context(), made)
			for who, err := range map[string]error{"axle apply": byApply, "the CRD": byCRD} {
				if (err == nil) != (test.refusal == "") || err != nil && !strings.Contains(err.Error(), test.refusal) {
					t.Errorf("%s: %v, want a refusal with %q", who, err, test.refusal)
				}
			}
		})
	}
}
