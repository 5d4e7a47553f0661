package kinds

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// object returns an object of a kind with a name and a spec.
func object(t *testing.T, d *definition, name, spec string) map[string]any {
	t.Helper()
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(spec), &fields); err != nil {
		t.Fatal(err)
	}
	return map[string]any{"apiVersion": d.api(), "kind": d.kind(), "metadata": map[string]any{"name": name}, "spec": fields}
}

// Each case is a spec, and a part of the API server's error. An empty part means
// that the spec is accepted.
func TestRulesRefuseWhatIsNotMeant(t *testing.T) {
	s := serve(t)
	const service = "git: {ref: main, folder: a}\n"
	tests := map[string]struct{ kind, spec, want string }{
		"no cluster":                  {"ServiceDeployment", service, "one of the two"},
		"two clusters":                {"ServiceDeployment", service + "cluster: a\nclusterRef: {name: b}", "one of the two"},
		"an empty reference":          {"ServiceDeployment", service + "cluster: a\nclusterRef: {}", ""},
		"a reference with its kind":   {"ServiceDeployment", service + "clusterRef: {kind: Cluster, name: b, namespace: c}", ""},
		"two repositories":            {"ServiceDeployment", "cluster: a\nrepositoryRef: {name: r}\ngit: {ref: m, folder: f, url: u}", "not by both"},
		"a chart without git":         {"ServiceDeployment", "cluster: a\nhelm: {url: u, chart: c}", ""},
		"a renderer of no type":       {"ServiceDeployment", "cluster: a\nrenderers: [{path: a, type: MAGIC}]", "Unsupported value"},
		"values as text":              {"ServiceDeployment", "cluster: a\nrenderers: [{path: a, type: HELM, helm: {values: 'a: 1'}}]", ""},
		"values as object":            {"ServiceDeployment", "cluster: a\nrenderers: [{path: a, type: HELM, helm: {values: {a: 1}}}]", ""},
		"an unknown field":            {"ServiceDeployment", "cluster: a\nrepository: r", "field not declared in schema"},
		"neither service nor copy":    {"GlobalService", "tags: {a: b}", "one of the two"},
		"service and copy":            {"GlobalService", "serviceRef: {name: a}\ntemplate: {namespace: b}", "one of the two"},
		"a distribution that is none": {"GlobalService", "distro: MINE\ntemplate: {namespace: b}", "Unsupported value"},
		"two repositories, deeper":    {"GlobalService", "template: {repositoryRef: {name: r}, git: {ref: m, folder: f, url: u}}", "not by both"},
		"two clusters of a stack":     {"InfrastructureStack", "type: TERRAFORM\ncluster: a\nclusterRef: {name: b}", "not by both"},
		"a restore of nothing":        {"ClusterRestore", "backupName: a", "backupID, or by backupName"},
		"two services":                {"Monitor", "service: a/b\nserviceRef: {name: b}\nseverity: LOW\ntype: LOG\nevaluationCron: '* * * * *'\nquery: {}\nthreshold: {aggregate: MAX, value: '1'}", "one of the two"},
		"nobody":                      {"AccessBinding", "subjects: [{}]\nactions: [read]", "one of the three"},
		"two of the three":            {"AccessBinding", "subjects: [{user: a, group: b}]\nactions: [read]", "one of the three"},
		"a service nowhere":           {"AccessBinding", "subjects: [{user: a}]\nactions: [read]\nplace: {service: s}", "comes with its cluster"},
		"two places":                  {"AccessBinding", "subjects: [{user: a}]\nactions: [read]\nplace: {project: a, cluster: b}", "one of the two"},
		"no such action":              {"AccessBinding", "subjects: [{user: a}]\nactions: [admin]", "Unsupported value"},
		"a service of a cluster":      {"AccessBinding", "subjects: [{user: a}]\nactions: [read]\nplace: {cluster: a, service: b}", ""},
		"two administrators":          {"AdminGrant", "user: a\nserviceAccount: b", "one of the two"},
		"a move to the same":          {"BackendMigration", "from: a\nto: a", "the same backend"},
		"no previews at all":          {"ProjectLimits", "project: a\npreviews: 0", "spec.previews in body should be greater than or equal to 1"},
		"fewer than no clusters":      {"ProjectLimits", "project: a\nclusters: -1", "greater than or equal to 1"},
		"no machines, no services":    {"ProjectLimits", "project: a\nmachines: 0\nservices: 0", "spec.services in body should be greater than or equal to 1"},
		"one of each":                 {"ProjectLimits", "project: a\nclusters: 1\nmachines: 1\nservices: 1\npreviews: 1", ""},
		"a wave of nothing":           {"RolloutPolicy", "waves: [some]", "should match"},
		"a policy of nothing":         {"RolloutPolicy", "targetRefs: [{kind: Cluster, name: a}]", "Unsupported value"},
		"a grant to nobody":           {"ReferenceGrant", "from: []\nto: [{group: '', kind: Secret}]", "should have at least 1 items"},
		"a grant to write all":        {"ReferenceGrant", "from: [{group: a, kind: B, namespace: c}]\nto: [{group: '', kind: Secret, write: true}]", "set its name"},
		"settings by another name":    {"HubSettings", "syncWindows: []", "named default"},
		"a repository of no type":     {"Repository", "url: https://git.invalid/a", ""},
		"an upgrade by another name":  {"AgentUpgrade", "version: '1'", "named default"},
		"a rule without a kind":       {"CustomHealth", "group: a\nscript: return {}", "without a kind"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := s.apply(t.Context(), object(t, s.kinds[tc.kind], "made", tc.spec))
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("it was refused: %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("%v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestWhatCannotBeChanged(t *testing.T) {
	s := serve(t)
	tests := map[string]struct{ kind, before, after string }{
		"GitRepository url":           {"GitRepository", "url: a", "url: b"},
		"HelmRepository url":          {"HelmRepository", "url: a", "url: b"},
		"CloudConnection provider":    {"CloudConnection", "provider: aws\nconfiguration: {}", "provider: gcp\nconfiguration: {}"},
		"Cluster cloud":               {"Cluster", "cloud: aws", "cloud: gcp"},
		"BootstrapToken user":         {"BootstrapToken", "projectRef: {name: a}\ntokenSecretRef: {name: a}\nuser: a", "projectRef: {name: a}\ntokenSecretRef: {name: a}\nuser: b"},
		"BootstrapToken project":      {"BootstrapToken", "projectRef: {name: a}\ntokenSecretRef: {name: a}", "projectRef: {name: b}\ntokenSecretRef: {name: a}"},
		"BootstrapToken secret":       {"BootstrapToken", "projectRef: {name: a}\ntokenSecretRef: {name: a}", "projectRef: {name: a}\ntokenSecretRef: {name: b}"},
		"FederatedCredential issuer":  {"FederatedCredential", "issuer: a\nuser: a", "issuer: b\nuser: a"},
		"FederatedCredential user":    {"FederatedCredential", "issuer: a\nuser: a", "issuer: a\nuser: b"},
		"ServiceDeployment imports":   {"ServiceDeployment", "cluster: a\nimports: [{stackRef: {name: a}}]", "cluster: a\nimports: [{stackRef: {name: b}}]"},
		"Provider cloud":              {"Provider", "cloud: aws\nname: a", "cloud: gcp\nname: a"},
		"Provider name":               {"Provider", "cloud: aws\nname: a", "cloud: aws\nname: b"},
		"Repository type":             {"Repository", "type: oci\nurl: a", "type: helm\nurl: a"},
		"Webhook provider":            {"Webhook", "provider: gitea\nsecretRef: {name: a, key: b}", "provider: github\nsecretRef: {name: a, key: b}"},
		"Webhook repository":          {"Webhook", "provider: gitea\nsecretRef: {name: a, key: b}", "provider: gitea\nrepository: r\nsecretRef: {name: a, key: b}"},
		"RegistrationToken uses":      {"RegistrationToken", "maxUses: 1\ntokenSecretRef: {name: a}", "maxUses: 2\ntokenSecretRef: {name: a}"},
		"ClusterRegistration project": {"ClusterRegistration", "project: a\ntokenSecretRef: {name: a}", "project: b\ntokenSecretRef: {name: a}"},
		"FederationTrust claims":      {"FederationTrust", "issuer: a\naudience: a\nserviceAccount: a\nclaims: {a: b}", "issuer: a\naudience: a\nserviceAccount: a\nclaims: {a: c}"},
		"AdminGrant":                  {"AdminGrant", "user: a", "user: b"},
		"LoginProvider issuer":        {"LoginProvider", "issuer: a\nclientId: c", "issuer: b\nclientId: c"},
		"User email":                  {"User", "email: a@b", "email: a@c"},
		"BackendMigration":            {"BackendMigration", "from: a\nto: b", "from: a\nto: c"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d, as := s.kinds[tc.kind], strings.ReplaceAll(strings.ToLower(name), " ", "-")
			if _, err := s.apply(t.Context(), object(t, d, as, tc.before)); err != nil {
				t.Fatal(err)
			}
			if _, err := s.apply(t.Context(), object(t, d, as, tc.after)); err == nil || !strings.Contains(err.Error(), "cannot be changed") {
				t.Errorf("the change was answered with %v", err)
			}
		})
	}
}

// Many repositories set a namespace on cluster-scoped kinds. Applying them with
// kubectl, the agent or another client must work.
func TestClusterScopedKindsTakeAStrayNamespace(t *testing.T) {
	s := serve(t)
	for _, d := range definitions(t) {
		if !d.cluster() {
			continue
		}
		_, made := example(t, d)
		metadata, ok := made["metadata"].(map[string]any)
		if !ok {
			t.Fatalf("%s: metadata is %v", d.kind(), made["metadata"])
		}
		metadata["namespace"] = "infra"
		stored, err := s.apply(t.Context(), made)
		if err != nil {
			t.Errorf("%s: %v", d.kind(), err)
			continue
		}
		var read metav1.PartialObjectMetadata
		if err := json.Unmarshal([]byte(text(t, stored)), &read); err != nil || read.Namespace != "" {
			t.Errorf("%s is in namespace %q (%v)", d.kind(), read.Namespace, err)
		}
	}
}

// Every kind accepts the longest names that Kubernetes allows.
func TestLongestNames(t *testing.T) {
	s := serve(t)
	long := strings.Repeat("a", 61) + ".b" + strings.Repeat("."+strings.Repeat("c", 62), 3) + "d"
	for _, d := range definitions(t) {
		if d.kind() == "HubSettings" || d.kind() == "AgentUpgrade" {
			continue
		}
		_, made := example(t, d)
		made["metadata"] = map[string]any{"name": long}
		if _, err := s.apply(t.Context(), made); err != nil {
			t.Errorf("%s: %v", d.kind(), err)
		}
	}
	if len(long) != 253 {
		t.Errorf("the name has %d bytes", len(long))
	}
}
