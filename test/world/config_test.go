package world_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/test/cloudserver"
	"github.com/axle-cd/axle/test/port"
	"github.com/axle-cd/axle/test/vaultserver"
	"github.com/axle-cd/axle/test/world"
)

// valuesStage is a stage whose hub knows a backend of every type, and all
// values that were planted.
type valuesStage struct {
	*stage
	vault    *vaultserver.Server
	cloud    *cloudserver.Server
	canaries []string
	// metrics is where the agent tells its metrics.
	metrics string
	// said is what commands printed that failed, or showed what would change.
	said map[string]string
}

// backends is the file of --config-backends.
const backends = `
refresh: 1s
backends:
- {name: vault, type: vault, vault: {address: "%[1]s", tokenFile: "%[2]s"}}
- {name: kubernetes, type: kubernetes, kubernetes: {namespace: default, kubeconfig: "%[3]s"}}
- {name: aws, type: aws, aws: {region: eu-central-1, endpoint: "%[4]s", accessKeyID: AKIAEXAMPLE, secretAccessKeyFile: "%[5]s"}}
- {name: gcp, type: gcp, gcp: {project: acme, endpoint: "%[4]s"}}
- {name: azure, type: azure, azure: {vaultURL: "%[4]s", tenantID: t, clientID: app, clientSecretFile: "%[6]s", authority: "%[4]s"}}
- {name: sops, type: sops, sops: {repository: fleet, ref: main, folder: sops, ageKeyFile: "%[7]s"}}
`

func newValuesStage(t *testing.T) *valuesStage {
	t.Helper()
	s := &valuesStage{vault: vaultserver.Start(), cloud: cloudserver.Start(), said: map[string]string{}}
	t.Cleanup(s.vault.Close)
	t.Cleanup(s.cloud.Close)
	s.cloud.Require("AKIAEXAMPLE", "aws-secret")
	metrics, err := port.Address()
	if err != nil {
		t.Fatal(err)
	}
	s.metrics = "http://" + metrics + "/metrics"
	s.stage = newStageOf(t, world.Config{Clusters: []string{"edge"}, Audit: true, Hub: []string{"--repo-poll-interval", "2s"}}, "--metrics-listen", metrics)
	key, err := filepath.Abs("testdata/sops/age.key")
	s.must(err)
	file := s.write("backends.yaml", fmt.Sprintf(backends, s.vault.URL(), s.write("vault-token", s.vault.Token()),
		s.Cluster("edge").Kubeconfig(), s.cloud.URL(), s.write("aws-key", "aws-secret"), s.write("azure-secret", "client-secret"), key))
	s.Hub.SetEnv("AXLE_HUB_CONFIG_BACKENDS="+file, "GCE_METADATA_HOST="+s.cloud.Host())
	s.must(s.Hub.Stop(t.Context()))
	s.must(s.Hub.Start(t.Context()))
	return s
}

// plant makes a value that must be seen nowhere.
func (s *valuesStage) plant(name string) string {
	value := "canary-" + name + "-" + strings.ToLower(rand.Text()[:12])
	s.canaries = append(s.canaries, value)
	return value
}

// place is the position of one service's secret.
type valuesPlace struct {
	// reference is the service's reference to it, empty for its own secret.
	reference string
	values    [2]string
	set       func(value string)
}

func (s *valuesStage) places() map[string]valuesPlace {
	plant := func(name string) [2]string { return [2]string{s.plant(name + "-1"), s.plant(name + "-2")} }
	cloud := func(name string) func(string) {
		return func(value string) { s.cloud.PutSecret(name, `{"word":"`+value+`"}`) }
	}
	sops := [2]string{"canary-sops-1-7hq2m9xk4v", "canary-sops-2-7hq2m9xk4v"}
	s.canaries = append(s.canaries, sops[:]...)
	return map[string]valuesPlace{
		"own": {"", plant("own"), func(value string) {
			s.axle("services", "config", "set", "edge/own", "--secret", "word="+s.write("own-secret", value))
		}},
		"vault": {"vault:apps/web", plant("vault"), func(value string) { s.must(s.vault.Put("apps/web", map[string]string{"word": value})) }},
		"kubernetes": {"kubernetes:app-secret", plant("kubernetes"), func(value string) {
			_, err := s.Kubectl(s.t.Context(), "edge", "delete", "secret", "app-secret", "-n", "default", "--ignore-not-found")
			s.must(err)
			_, err = s.Kubectl(s.t.Context(), "edge", "create", "secret", "generic", "app-secret", "-n", "default", "--from-file=word="+s.write("kubernetes-secret", value))
			s.must(err)
		}},
		"aws":   {"aws:apps/aws", plant("aws"), cloud("apps/aws")},
		"gcp":   {"gcp:gcp-app", plant("gcp"), cloud("gcp-app")},
		"azure": {"azure:azure-app", plant("azure"), cloud("azure-app")},
		"sops": {"sops:prod.yaml", sops, func(value string) {
			text, err := os.ReadFile("testdata/sops/" + strings.Split(value, "-")[2] + ".enc.yaml")
			s.must(err)
			_, err = s.Git.Commit(s.t.Context(), "fleet", "main", "rotate", map[string]string{"sops/prod.yaml": string(text)})
			s.must(err)
			s.axle("repos", "refresh", "fleet")
		}},
	}
}

// word waits until a service's Secret holds a value.
func (s *valuesStage) word(service, value string) {
	s.t.Helper()
	s.eventual("service "+service+" holds its value", func() error {
		var o struct{ Data map[string][]byte }
		if err := s.read("edge", "/api/v1/namespaces/"+service+"/secrets/word", &o); err != nil {
			return err
		}
		if got := string(o.Data["word"]); got != value {
			return fmt.Errorf("it holds %q", got)
		}
		return nil
	})
}

// commitValues makes the folders that the services are of.
func (s *valuesStage) commitValues() {
	s.t.Helper()
	label := func(expression string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, labels: {word: \"" + expression + " !\"}}\n"
	}
	_, err := s.Git.Commit(s.t.Context(), "fleet", "main", "values", map[string]string{
		"values/word.yaml.liquid": "apiVersion: v1\nkind: Secret\nmetadata: {name: word}\nstringData: {word: \"{{ configuration.word }}\"}\n",
		"shared/word.yaml.liquid": "apiVersion: v1\nkind: Secret\nmetadata: {name: word}\nstringData: {word: \"{{ contexts.prod.pass }}/{{ imports.net.key }}\"}\n",
		// What API servers and renderers quote when they refuse something.
		"label/one.yaml.liquid":    label("{{ configuration.word }}"),
		"context/one.yaml.liquid":  label("{{ contexts.prod.pass }}{{ imports.net.key }}"),
		"base64/one.yaml.liquid":   "apiVersion: v1\nkind: Secret\nmetadata: {name: word}\ndata: {word: \"{{ configuration.word }}!\"}\n",
		"kind/one.yaml.liquid":     "apiVersion: v1\nkind: \"{{ configuration.word }}\"\nmetadata: {name: word}\n",
		"yaml/one.yaml.liquid":     "apiVersion: v1\nkind: Secret\n  {{ configuration.word }}: [\n",
		"chart/Chart.yaml":         "apiVersion: v2\nname: chart\nversion: 1.0.0\n",
		"chart/values.yaml.liquid": "word: \"{{ configuration.word }}\"\n",
		"chart/templates/x.yaml":   "{{ fail (printf \"the word is %s\" .Values.word) }}\n",
	})
	s.must(err)
}

// TestSecretsOfEveryBackend runs one story in one world: a service with a secret from
// each backend renders, rotates and rolls back; the built-in backend's values move to
// another while services change, and the hub is killed on the way; and no secret is
// visible anywhere.
func TestSecretsOfEveryBackend(t *testing.T) {
	t.Parallel()
	s := newValuesStage(t)
	s.commitValues()
	places := s.places()
	for name, p := range places {
		s.axle("services", "create", "edge/"+name, "--repo", "fleet", "--ref", "main", "--folder", "values")
		p.set(p.values[0])
	}
	for name, p := range places {
		if p.reference != "" {
			s.eventual("the hub reads "+p.reference, func() error {
				_, err := s.Axle(t.Context(), "services", "config", "set", "edge/"+name, "--ref", "word="+p.reference)
				return err
			})
		}
	}
	s.shared()
	for name, p := range places {
		s.word(name, p.values[0])
	}
	for _, p := range places {
		p.set(p.values[1])
	}
	for name, p := range places {
		s.word(name, p.values[1])
	}
	s.failing()
	s.differing()
	s.refused()
	s.move(places)
	for name := range places {
		s.axle("services", "rollback", "edge/"+name)
	}
	for name, p := range places {
		s.word(name, p.values[0])
	}
	s.must(s.agents["edge"].Kill())
	s.must(s.agents["edge"].Start())
	s.rest()
	s.unseen()
}

// shared deploys a service of a context and outputs, and changes both.
func (s *valuesStage) shared() {
	s.t.Helper()
	pass, key := [2]string{s.plant("context-1"), s.plant("context-2")}, s.plant("outputs")
	s.axle("contexts", "create", "prod", "region=eu-1", "--secret", "pass="+s.write("context", pass[0]))
	s.axle("outputs", "put", "net", "vpc=vpc-1", "--secret", "key="+s.write("outputs", key))
	s.axle("services", "create", "edge/shared", "--repo", "fleet", "--ref", "main", "--folder", "shared", "--bind", "prod", "--import", "net")
	s.word("shared", pass[0]+"/"+key)
	s.axle("contexts", "set", "prod", "--secret", "pass="+s.write("context", pass[1]))
	s.word("shared", pass[1]+"/"+key)
}

// failing deploys services whose errors quote values.
func (s *valuesStage) failing() {
	s.t.Helper()
	value := s.write("failing", s.plant("failing"))
	for _, folder := range []string{"label", "context", "base64", "kind", "yaml", "chart"} {
		s.axle("services", "create", "edge/"+folder, "--repo", "fleet", "--ref", "main", "--folder", folder, "--bind", "prod", "--import", "net", "--secret-file", "word="+value)
	}
	for _, folder := range []string{"label", "context", "base64", "kind", "yaml", "chart"} {
		s.state("edge", folder, "Failed")
	}
}

// differing asks what applying services would change, of one whose value
// changes and of all that fail.
func (s *valuesStage) differing() {
	s.t.Helper()
	value := [2]string{s.plant("diff-1"), s.plant("diff-2")}
	s.axle("services", "create", "edge/diff", "--repo", "fleet", "--ref", "main", "--folder", "values", "--secret-file", "word="+s.write("diff", value[0]))
	s.word("diff", value[0])
	s.axle("services", "pause", "edge/diff")
	s.axle("services", "config", "set", "edge/diff", "--secret", "word="+s.write("diff", value[1]))
	shown := s.differs(1, "services", "diff", "edge/diff")
	if !strings.Contains(shown, "update Secret diff/word") {
		s.t.Errorf("a diff of a value that changed: %s", shown)
	}
	s.said["the diff"] = shown
	for _, folder := range []string{"label", "base64", "chart"} {
		result, err := s.Axle(s.t.Context(), "services", "diff", "edge/"+folder)
		s.said["the diff of "+folder] = result.Out + fmt.Sprint(err)
	}
}

// refused runs commands whose errors could quote values.
func (s *valuesStage) refused() {
	s.t.Helper()
	value := s.canaries[len(s.canaries)-1]
	for name, args := range map[string][]string{
		"a value that is too large":  {"services", "config", "set", "edge/own", "--secret", "word=" + s.write("large", strings.Repeat(value, 1<<15))},
		"a key that cannot be":       {"services", "config", "set", "edge/own", "--secret", "a.b=" + s.write("key", value)},
		"a path that is not there":   {"services", "config", "set", "edge/own", "--ref", "word=vault:apps/none"},
		"a name that is not there":   {"services", "config", "set", "edge/own", "--ref", "word=vault:apps/web#none"},
		"a service that is not":      {"services", "config", "set", "edge/none", "--secret", "word=" + s.write("none", value)},
		"a context that cannot be":   {"contexts", "create", "Not A Name", "--secret", "pass=" + s.write("context", value)},
		"a secret that is no secret": {"services", "config", "edge/own", "--explain", "word"},
	} {
		result, err := s.Axle(s.t.Context(), args...)
		if strings.HasPrefix(name, "a secret") == (err != nil) {
			s.t.Errorf("%s: %v", name, err)
		}
		s.said[name] = result.Out + result.Err
	}
}

// move moves the values of the built-in backend while a service is deployed
// again and again, and kills the hub in the middle.
func (s *valuesStage) move(places map[string]valuesPlace) {
	s.t.Helper()
	digests := map[string]string{}
	for name := range places {
		digests[name] = s.axle("services", "config", "edge/"+name, "-o", "json")
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	looped := make(chan error, 1)
	go func() { looped <- s.deployLoop(ctx) }()
	s.axle("config", "migrate", "--from", "built-in", "--to", "vault", "--detach")
	s.must(s.Hub.Kill())
	s.must(s.Hub.Start(s.t.Context()))
	s.eventual("the values moved", func() error { return s.contains("backends migrate --status -o json", `"phase": "done"`) })
	cancel()
	s.must(<-looped)
	for name, p := range places {
		if now := s.axle("services", "config", "edge/"+name, "-o", "json"); now != digests[name] {
			s.t.Errorf("%s: its configuration is %s, before the move %s", name, now, digests[name])
		}
		s.word(name, p.values[1])
	}
	if n := s.vault.Paths("axle/cfg-"); n < 2*len(places) {
		s.t.Errorf("%d documents are in the vault", n)
	}
	var all []struct {
		Name      string
		Documents int
	}
	s.must(json.Unmarshal([]byte(s.axle("config", "backends", "-o", "json")), &all))
	for _, b := range all {
		if b.Name == "built-in" && b.Documents != 0 {
			s.t.Errorf("%d documents are left in the built-in backend", b.Documents)
		}
	}
}

// unavailable are words of errors while no hub answers.
var unavailable = []string{"cannot reach the hub", "broken pipe", "connect", "EOF", "reset", "unavailable"}

// deployLoop changes a service's value until the context ends; no pass may
// fail.
func (s *valuesStage) deployLoop(ctx context.Context) error {
	for n := 0; ctx.Err() == nil; n++ {
		// While the hub is unavailable a person tries again.
		if _, err := s.Axle(context.WithoutCancel(ctx), "services", "config", "set", "edge/shared", fmt.Sprintf("round=%d", n)); err != nil && !slices.ContainsFunc(unavailable, func(word string) bool { return strings.Contains(err.Error(), word) }) {
			return err
		}
		one, err := s.Service(context.WithoutCancel(ctx), "edge", "shared")
		if err == nil && one.Sync == "Failed" {
			return errors.New("a pass failed: " + one.Text())
		}
	}
	return nil
}
