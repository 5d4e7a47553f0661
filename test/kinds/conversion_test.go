package kinds

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/cli"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
	"github.com/axle-cd/axle/test/kube"
)

func TestMain(m *testing.M) {
	hubtest.Main(kube.KeepShared(m)) // with the CRDs
}

// notInFiles are kinds that axle export does not have, with the reason. Every other kind
// that acts is exported.
var notInFiles = map[string]string{
	"AgentConfiguration":   "belongs in the cluster of an agent",
	"CustomHealth":         "belongs in the cluster of an agent",
	"Dashboard":            "belongs in the cluster of an agent",
	"LogFilter":            "belongs in the cluster of an agent",
	"LogTail":              "belongs in the cluster of an agent",
	"PluralCAPICluster":    "belongs in the cluster of an agent",
	"FederatedCredential":  "only the operator reads it yet",
	"OIDCProvider":         "Application is exported instead",
	"Group":                "only the operator reads it yet",
	"NamespaceCredentials": "is about the operator itself",
	"ReferenceGrant":       "is about the operator itself",
	"ServiceAccount":       "only the operator reads it yet",
	"BootstrapToken":       "is a secret that is shown once",
	"RegistrationToken":    "is a secret that is shown once",
	"GeneratedSecret":      "is about Secrets of the management cluster",
	"ClusterSync":          "is about objects of the management cluster",
	"AgentUpgrade":         "happens once",
	"DeploymentSettings":   "has no exporter yet",
	"ScmConnection":        "has no exporter yet",
	"Provider":             "is the cluster template of its name, and nothing in the hub",
	"Repository":           "GitRepository and HelmRepository are exported instead",
	"Webhook":              "has no exporter yet",
	"ClusterRegistration":  "Cluster is exported instead",
	"ProjectLimits":        "has no exporter yet",
	"HubSettings":          "has no exporter yet",
	"Outputs":              "has no exporter yet: components write them, not people",
	"User":                 "has no exporter yet",
	"AdminGrant":           "has no exporter yet",
	"GroupMembership":      "has no exporter yet",
	"AccessBinding":        "has no exporter yet",
	"LoginProvider":        "has no exporter yet",
	"FederationTrust":      "has no exporter yet",
}

// converter is a hub with the command line.
type converter struct {
	*testing.T
	client *sdk.Client
	dir    string
}

func newConverter(t *testing.T) *converter {
	t.Helper()
	h := hubtest.New(t, hubtest.Config{})
	client, err := sdk.New(sdk.Config{URL: h.URL, Token: h.AdminToken})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("AXLE_CONFIG", filepath.Join(dir, "config.yaml"))
	t.Setenv("AXLE_HUB_URL", h.URL)
	t.Setenv("AXLE_TOKEN", h.AdminToken)
	return &converter{t, client, dir}
}

func (c *converter) axle(words ...string) (string, error) {
	var out, errs bytes.Buffer
	if code := cli.Run(c.Context(), words, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}); code != 0 {
		return out.String(), fmt.Errorf("axle %s: exit %d: %s%s", strings.Join(words, " "), code, out.String(), errs.String())
	}
	return out.String(), nil
}

func (c *converter) write(name string, text []byte) string {
	c.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		c.Fatal(err)
	}
	return path
}

// existing ignores the error of a create of what is there.
func (c *converter) existing(err error) {
	c.Helper()
	if err != nil && errcode.Of(err) != errcode.Conflict && connect.CodeOf(err) != connect.CodeAlreadyExists && connect.CodeOf(err) != connect.CodeAborted && connect.CodeOf(err) != connect.CodeFailedPrecondition {
		c.Fatal(err)
	}
}

// values answers for every Secret and ConfigMap, and notes which there are.
type values struct {
	secrets, configMaps map[[2]string]bool
	// sources are documents of sources of Flux.
	sources map[string]bool
}

func (v values) Secret(namespace, name string) (map[string]string, error) {
	v.secrets[[2]string{namespace, name}] = true
	return map[string]string{"password": "hidden"}, nil
}

func (v values) ChartValues(namespace, name string) (string, error) {
	v.secrets[[2]string{namespace, name}] = true
	return `{"password":"hidden"}`, nil
}

func (v values) ConfigMap(namespace, name string) (map[string]string, error) {
	v.configMaps[[2]string{namespace, name}] = true
	return map[string]string{"zone": "a.example"}, nil
}

// Source answers for the sources of sourceRef; helm.repository is a name of the hub.
func (v values) Source(kind, namespace, name string) (*manifest.FluxSource, error) {
	if kind == "HelmRepository" {
		return nil, nil
	}
	text := fmt.Sprintf(`{"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": %q, "metadata": {"namespace": %q, "name": %q}, "spec": {"url": "https://git.invalid/%s"}}`, kind, namespace, name, manifest.FluxName(kind, namespace, name))
	v.sources[text] = true
	return manifest.ReadFlux([]byte(text), "test")
}

// Service implements manifest.Values.
func (values) Service(string, string) (*v1alpha1.ServiceDeployment, error) {
	return nil, nil // the examples have templates
}

// Connection implements manifest.Values.
func (values) Provider(name string) (*v1alpha1.Provider, error) {
	return &v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ProviderSpec{Cloud: "aws"}}, nil
}

func (values) Connection(string) (*v1alpha1.ScmConnection, error) {
	return nil, nil // credentialsRef wins
}

// prepare creates what an object refers to, and returns the documents of its Secrets and
// ConfigMaps.
func (c *converter) prepare(item *manifest.Item, v values) (documents string) {
	c.Helper()
	ctx := c.Context()
	spec, project, cluster := item.Service.GetSpec(), item.Service.GetProject(), item.Service.GetRef().GetCluster()
	if item.Global != nil {
		spec, project = item.Global.GetSpec(), item.Global.GetSettings().GetProject()
	}
	if request, ok := item.Request.(*hubv1.CreateContextRequest); ok {
		project = request.GetContext().GetProject()
	}
	if item.Cluster != nil {
		cluster = item.Cluster.GetName()
	}
	if cluster != "" {
		_, err := c.client.Clusters.Create(ctx, connect.NewRequest(&hubv1.CreateClusterRequest{Name: cluster}))
		c.existing(err)
	}
	if project != "" {
		_, err := c.client.Projects.Create(ctx, connect.NewRequest(&hubv1.CreateProjectRequest{Name: project}))
		c.existing(err)
	}
	repositories := map[string]string{spec.GetRepository(): "git"}
	for _, s := range spec.GetSources() {
		repositories[s.GetRepository()] = "git"
		if s.GetChart() != "" {
			repositories[s.GetRepository()] = "helm"
		}
	}
	if name := spec.GetHelm().GetRepository(); name != "" {
		repositories[name] = "helm"
		if spec.GetHelm().GetGit() != nil {
			repositories[name] = "git"
		}
	}
	urls := map[string]string{spec.GetGit().GetUrl(): "git", spec.GetHelm().GetGit().GetUrl(): "git"}
	for _, s := range spec.GetSources() {
		urls[s.GetGit().GetUrl()] = "git"
	}
	for url := range urls {
		repositories[strings.NewReplacer(":", "", "/", "-").Replace(url)] = url
	}
	for name, kind := range repositories {
		if name == "" || strings.Contains(name, "{{") {
			continue
		}
		request := &hubv1.CreateRepositoryRequest{Name: name, Type: kind, Url: "https://git.invalid/" + name}
		if strings.Contains(kind, ":") {
			request.Type, request.Url = "git", kind
		}
		_, err := c.client.Repositories.Create(ctx, connect.NewRequest(request))
		c.existing(err)
	}
	for _, name := range spec.GetContexts() {
		_, err := c.client.Contexts.Create(ctx, connect.NewRequest(&hubv1.CreateContextRequest{Context: &hubv1.Context{Name: name, Values: "{}"}}))
		c.existing(err)
	}
	for _, i := range spec.GetImports() {
		_, err := c.client.Outputs.Put(ctx, connect.NewRequest(&hubv1.PutOutputsRequest{Outputs: &hubv1.Context{Name: i.GetStack(), Values: "{}"}, Global: true}))
		c.existing(err)
	}
	if item.Access != nil {
		for _, one := range item.Access.Set {
			var err error
			if to := one.(*hubv1.CreateBindingRequest); to.GetSubjectKind() == "group" {
				_, err = c.client.Groups.Create(ctx, connect.NewRequest(&hubv1.CreateGroupRequest{Name: to.GetSubject()}))
			} else {
				_, err = c.client.Users.Create(ctx, connect.NewRequest(&hubv1.CreateUserRequest{Email: to.GetSubject()}))
			}
			c.existing(err)
		}
	}
	if login, ok := item.Request.(*hubv1.CreateRepositoryRequest); ok && len(item.Stored) > 0 { // its login is at the hub before
		stored := proto.CloneOf(login)
		stored.Credentials = &hubv1.RepositoryCredentials{Username: "you", Password: "hidden"}
		_, err := c.client.Repositories.Create(ctx, connect.NewRequest(stored))
		c.existing(err)
	}
	for source := range v.sources {
		documents += "\n---\n" + source
	}
	if r, ok := item.Request.(*hubv1.ApplyNotificationRouterRequest); ok {
		for _, name := range r.GetSettings().GetSinks() {
			_, err := c.client.NotificationSinks.Apply(ctx, connect.NewRequest(&hubv1.ApplyNotificationSinkRequest{Name: name, Url: "https://hooks.invalid/x", Settings: &hubv1.NotificationSinkSettings{Type: "SLACK"}}))
			c.existing(err)
		}
	}
	for at := range v.secrets {
		documents += fmt.Sprintf("---\napiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: %q}\nstringData: {password: hidden}\n", at[1], at[0])
	}
	for at := range v.configMaps {
		documents += fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %q}\ndata: {zone: a.example}\n", at[1], at[0])
	}
	return documents
}

// TestExamplesGoThroughTheHubAndBack applies every example and every object of the
// documents to a real hub, reads it back as a manifest, and applies that to a real API
// server and to the hub again: both have it unchanged.
func TestExamplesGoThroughTheHubAndBack(t *testing.T) {
	s := serve(t)
	c := newConverter(t)
	objects := documented(t)
	seen := map[string]int{}
	for _, d := range definitions(t) {
		if d.row().Level == kinds.Full && d.Spec.Group == kinds.Deployments && notInFiles[d.kind()] == "" {
			seen[d.kind()] = 0
			_, object := example(t, d)
			objects[d.example()] = object
		}
	}
	for i, at := range slices.Sorted(maps.Keys(objects)) {
		object := objects[at]
		kind := fmt.Sprint(object["kind"])
		if _, exported := seen[kind]; !exported || object["spec"] == nil {
			continue
		}
		seen[kind]++
		if err := c.round(s, at, fmt.Sprintf("converted-%d", i), object); err != nil {
			t.Errorf("%s (%s): %v", at, kind, err)
		}
	}
	for kind, n := range seen {
		if n == 0 {
			t.Errorf("no example of %s is applied", kind)
		}
	}
	t.Logf("objects by kind: %v", seen)
}

func (c *converter) round(s *server, at, unique string, object map[string]any) error {
	c.Helper()
	kind := fmt.Sprint(object["kind"])
	v := values{map[[2]string]bool{}, map[[2]string]bool{}, map[string]bool{}}
	if metadata, ok := object["metadata"].(map[string]any); ok && strings.HasSuffix(kind, "Repository") {
		metadata["name"] = unique // the documents have many of one name with different URLs
	}
	if spec, ok := object["spec"].(map[string]any); ok && kind == "ServiceDeployment" && spec["repositoryRef"] == nil && at == "docs/drift.md:0" {
		spec["repositoryRef"] = map[string]any{"name": "fleet"} // the page shows other fields
	}
	item, err := manifest.Object(object, at, v)
	if err != nil {
		return err
	}
	original, err := yaml.Marshal(object)
	if err != nil {
		return err
	}
	file := c.write("original.yaml", []byte(string(original)+c.prepare(item, v)))
	if _, err := c.axle("apply", "-f", file); err != nil {
		return err
	}
	read, err := c.axle("get", item.Kind, item.Name, "-o", "yaml")
	if err != nil {
		return err
	}
	if strings.Contains(read, "hidden") {
		return errors.New("the manifest has a secret:\n" + read)
	}
	if _, err := c.axle("diff", "-f", c.write("exported.yaml", []byte(read))); err != nil {
		return fmt.Errorf("%w\n%s", err, read)
	}
	var exported map[string]any
	if err := yaml.Unmarshal([]byte(read), &exported); err != nil {
		return err
	}
	exported["metadata"] = map[string]any{"name": unique}
	stored, err := s.apply(c.Context(), exported)
	if err != nil {
		return fmt.Errorf("the API server refuses it: %w\n%s", err, read)
	}
	d := s.kinds[item.Kind]
	if have, want := text(c.T, stored["spec"]), text(c.T, defaulted(exported["spec"], specOf(d))); have != want {
		return fmt.Errorf("it came back as\n%s\nwant\n%s", have, want)
	}
	return nil
}

// TestEveryFullKindIsExported says which kinds axle export does not have.
func TestEveryFullKindIsExported(t *testing.T) {
	for _, k := range kinds.All {
		exported := slices.Contains(manifest.ExportedKinds, k.Name)
		switch _, excepted := notInFiles[k.Name]; {
		case exported && (excepted || k.Level != kinds.Full):
			t.Errorf("%s is exported, and does not act or is excepted", k.Name)
		case k.Level == kinds.Full && !exported && !excepted:
			t.Errorf("%s acts and is not exported; write its inverse in sdk/manifest, or say why not", k.Name)
		}
	}
}
