package manifest_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"sigs.k8s.io/yaml"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/api/spec/convert/converttest"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/sdk/manifest"
)

// secrets are the values of every Secret and ConfigMap.
type secrets map[string]string

func (s secrets) Secret(_, _ string) (map[string]string, error) { return s, nil }
func (s secrets) ChartValues(_, _ string) (string, error) {
	return manifest.MergeChartValues(map[string]string{"values.yaml": "password: " + s["password"]}, "a/b")
}
func (s secrets) ConfigMap(_, _ string) (map[string]string, error) {
	return map[string]string{"size": "3"}, nil
}

// asStored is what the hub answers for what an item declares: of secrets, the keys.
func asStored(t *testing.T, item *manifest.Item) proto.Message {
	t.Helper()
	hide := func(secrets map[string]string) {
		for key := range secrets {
			secrets[key] = ""
		}
	}
	switch r := item.Request.(type) {
	case *hubv1.CreateProjectRequest:
		return &hubv1.Project{Name: r.GetName(), Description: r.GetDescription()}
	case *hubv1.CreateRepositoryRequest:
		have := &hubv1.Repository{Name: r.GetName(), Type: r.GetType(), Url: r.GetUrl(), Auth: r.GetAuth(), Options: r.GetOptions()}
		if have.Auth == "" && proto.Size(r.GetCredentials()) > 0 {
			have.Auth = "basic"
		}
		if proto.Size(have.GetOptions()) == 0 {
			have.Options = nil // an empty message says the same as none
		}
		return have
	case *hubv1.CreateContextRequest:
		have := proto.CloneOf(r.GetContext())
		hide(have.GetSecrets())
		return have
	}
	switch {
	case item.Cluster != nil:
		return &hubv1.Cluster{Name: item.Cluster.GetName(), Handle: item.Cluster.GetName(), Tags: item.Cluster.GetTags(), Metadata: item.Cluster.GetMetadata()}
	case item.Service != nil:
		have := &hubv1.Service{Cluster: item.Service.GetRef().GetCluster(), Name: item.Service.GetRef().GetName(), Project: item.Service.GetProject(), Spec: proto.CloneOf(item.Service.GetSpec())}
		hide(have.GetSpec().GetSecrets())
		return have
	case item.Namespace != nil:
		have := &hubv1.ManagedNamespace{Name: item.Namespace.GetName(), Settings: item.Namespace.GetSettings(), Spec: proto.CloneOf(item.Namespace.GetSpec())}
		hide(have.GetSpec().GetSecrets())
		return have
	case item.Global != nil:
		have := &hubv1.GlobalService{Name: item.Global.GetName(), Settings: item.Global.GetSettings(), Spec: proto.CloneOf(item.Global.GetSpec())}
		hide(have.GetSpec().GetSecrets())
		return have
	}
	switch request := item.Request.(type) {
	case *hubv1.ApplyNotificationSinkRequest:
		return &hubv1.NotificationSink{Name: request.GetName(), Settings: request.GetSettings(), Signed: request.GetSettings().GetType() == "WEBHOOK" && !request.GetUnsigned()}
	case *hubv1.ApplyNotificationRouterRequest:
		return &hubv1.NotificationRouter{Name: request.GetName(), Settings: request.GetSettings()}
	}
	t.Fatalf("%s is not a kind of files", item.Kind)
	return nil
}

func export(e manifest.Exporter, have proto.Message) (manifest.Exported, error) {
	switch have := have.(type) {
	case *hubv1.Project:
		return e.Project(have)
	case *hubv1.Repository:
		return e.Repository(have)
	case *hubv1.Cluster:
		return e.Cluster(have)
	case *hubv1.Context:
		return e.Context(have)
	case *hubv1.Service:
		return e.Service(have)
	case *hubv1.ManagedNamespace:
		return e.ManagedNamespace(have)
	case *hubv1.NotificationSink:
		return e.NotificationSink(have)
	case *hubv1.NotificationRouter:
		return e.NotificationRouter(have)
	default:
		return e.Global(have.(*hubv1.GlobalService))
	}
}

// Source implements manifest.Values: there are all sources.
func (secrets) Source(kind, namespace, name string) (*manifest.FluxSource, error) {
	return manifest.ReadFlux(fmt.Appendf(nil, `{"kind": %q, "metadata": {"namespace": %q, "name": %q}}`, kind, namespace, name), "test")
}

// Connection implements manifest.Values.
func (secrets) Service(string, string) (*v1alpha1.ServiceDeployment, error) { return nil, nil }

func (secrets) Provider(string) (*v1alpha1.Provider, error) { return nil, nil }

func (secrets) Connection(string) (*v1alpha1.ScmConnection, error) {
	return nil, nil // credentialsRef wins
}

// goesRound exports what the hub has after an object was applied, reads it again, and
// compares what the two would send. It returns what was exported.
func goesRound(t *testing.T, object any) string {
	t.Helper()
	values := secrets{"password": "s3cret", "token": "t0ken"}
	first, err := manifest.Object(object, "first", values)
	if err != nil {
		t.Fatal(err)
	}
	have := asStored(t, first)
	exported, err := export(manifest.Exporter{}, have)
	if err != nil {
		t.Fatal(err)
	}
	text, err := exported.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if exported.Kind != first.Kind || exported.Name != first.Name {
		t.Errorf("%s %s is exported as %s %s", first.Kind, first.Name, exported.Kind, exported.Name)
	}
	for _, value := range values {
		if strings.Contains(string(text), value) {
			t.Errorf("the export holds a secret:\n%s", text)
		}
	}
	items, err := read(t, string(text))
	if err != nil || len(items) != 1 {
		t.Fatalf("%d items: %v\n%s", len(items), err, text)
	}
	second := &items[0]
	if err := second.Lacks(have); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	// What is sent the second time holds no secret, and keeps those of the first.
	if diff := cmp.Diff(have, asStored(t, second), protocmp.Transform(), cmp.FilterPath(func(p cmp.Path) bool {
		_, repository := second.Request.(*hubv1.CreateRepositoryRequest)
		return strings.Contains(p.Last().String(), "auth") && repository
	}, cmp.Ignore())); diff != "" {
		t.Errorf("after the export (-before +after):\n%s\n%s", diff, text)
	}
	return string(text)
}

// filled is an object of a kind with every field that its reading uses.
func filled(kind string) any {
	switch kind {
	case "Project":
		var o v1alpha1.Project
		converttest.Fill(&o.Spec)
		return named(&o, kind)
	case "GitRepository":
		var o v1alpha1.GitRepository
		converttest.Fill(&o.Spec)
		return named(&o, kind)
	case "HelmRepository":
		var o v1alpha1.HelmRepository
		converttest.Fill(&o.Spec)
		o.Spec.Auth = &v1alpha1.HelmRepositoryAuth{AWS: &v1alpha1.HelmRepositoryAuthAWS{}, Proxy: &v1alpha1.HTTPProxy{URL: "http://proxy.example.test:3128"}}
		provider := "AWS"
		o.Spec.Provider = &provider
		return named(&o, kind)
	case "Cluster":
		var o v1alpha1.Cluster
		converttest.Fill(&o.Spec)
		o.Spec.ProviderRef = nil // a cluster that is there is not made
		return named(&o, kind)
	case "ServiceContext":
		var o v1alpha1.ServiceContext
		converttest.Fill(&o.Spec)
		return named(&o, kind)
	case "GlobalService":
		var o v1alpha1.GlobalService
		converttest.Fill(&o.Spec)
		o.Spec.ServiceRef = nil                       // the template is instead of it
		o.Spec.Template.Helm.ValuesConfigMapRef = nil // its values become those of helm.values
		interval := "90m0s"
		o.Spec.Interval = &interval
		share, soak, late := "10%", "30m0s", "1m30s"
		o.Spec.Rollout = &v1alpha1.GlobalRollout{Waves: []string{"1", "100%"}, MaxUnavailable: &share, Soak: &soak, FailAfter: &late, MaxFailed: &share}
		return named(&o, kind)
	case "ManagedNamespace":
		var o v1alpha1.ManagedNamespace
		converttest.Fill(&o.Spec)
		// The hub says that the service makes no namespace.
		o.Spec.Service.SyncConfig.CreateNamespace = nil
		o.Spec.Service.Helm.ValuesConfigMapRef = nil
		return named(&o, kind)
	case "NotificationSink":
		var o v1alpha1.NotificationSink
		o.Spec.Type, o.Spec.ProjectRef = "WEBHOOK", &v1alpha1.ObjectReference{Name: "shop"}
		key := &v1alpha1.KeySelector{Name: "hook", Key: "password"}
		o.Spec.Configuration.URLSecretRef, o.Spec.Configuration.Webhook = key, &v1alpha1.NotificationWebhook{SecretRef: key}
		return named(&o, kind)
	case "NotificationRouter":
		var o v1alpha1.NotificationRouter
		converttest.Fill(&o.Spec)
		return named(&o, kind)
	default:
		var o v1alpha1.ServiceDeployment
		converttest.Fill(&o.Spec)
		o.Spec.Helm.ValuesConfigMapRef = nil
		return named(&o, kind)
	}
}

// named gives an object its kind and name.
func named(object any, kind string) any {
	o := reflect.ValueOf(object).Elem()
	o.FieldByName("APIVersion").SetString(v1alpha1.GroupVersion.String())
	o.FieldByName("Kind").SetString(kind)
	o.FieldByName("ObjectMeta").FieldByName("Name").SetString("web")
	return object
}

// converted are the exported kinds with a converter of their own. The others go through a
// hub: TestDescribedObjects of cli.
func converted() []string {
	return slices.DeleteFunc(slices.Clone(manifest.ExportedKinds), func(kind string) bool {
		k, _ := object.Named(kind)
		return k.Storage != nil
	})
}

func TestExportIsTheInverseOfRead(t *testing.T) {
	for _, kind := range converted() {
		t.Run(kind, func(t *testing.T) { goesRound(t, filled(kind)) })
	}
}

// FuzzExport leaves fields out of a full object, by chance.
func FuzzExport(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		kind := converted()[r.IntN(len(converted()))]
		object := filled(kind)
		spec := reflect.ValueOf(object).Elem().FieldByName("Spec")
		thin(spec, r)
		if _, err := manifest.Object(object, "object", secrets{"password": "s3cret"}); err != nil {
			return // it is not valid without that field
		}
		goesRound(t, object)
	})
}

// thin clears some of the fields of a struct, at any depth.
func thin(v reflect.Value, r *rand.Rand) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			thin(v.Elem(), r)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct {
			for i := range v.Len() {
				thin(v.Index(i), r)
			}
		}
	case reflect.Struct:
		if _, own := v.Addr().Interface().(json.Unmarshaler); own {
			return
		}
		for i := range v.NumField() {
			if r.IntN(3) == 0 {
				v.Field(i).SetZero()
			} else {
				thin(v.Field(i), r)
			}
		}
	}
}

func TestExportKeepsSecretsAndSaysSo(t *testing.T) {
	text := goesRound(t, filled("ServiceDeployment"))
	for _, want := range []string{"# Secrets are not exported.", "axle-cd.github.io/stored-secrets: helm.valuesFrom,password,token"} {
		if !strings.Contains(text, want) {
			t.Errorf("the export does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "configurationRef") {
		t.Errorf("the export names a Secret that does not exist:\n%s", text)
	}
}

func TestStoredSecretsNeedTheHubToHaveThem(t *testing.T) {
	items, err := read(t, `apiVersion: deployments.plural.sh/v1alpha1
kind: ServiceDeployment
metadata: {name: web, annotations: {axle-cd.github.io/stored-secrets: "password, token"}}
spec: {cluster: edge-1, repositoryRef: {name: fleet}, git: {ref: main, folder: web}}
---
apiVersion: deployments.plural.sh/v1alpha1
kind: GitRepository
metadata: {name: fleet, annotations: {axle-cd.github.io/stored-secrets: credentials}}
spec: {url: "https://git.example.test/fleet"}
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		item manifest.Item
		have proto.Message
		want string
	}{
		{items[1], nil, `the annotation axle-cd.github.io/stored-secrets keeps "password", which the hub does not have`},
		{items[1], &hubv1.Service{Spec: &hubv1.ServiceSpec{Secrets: map[string]string{"password": ""}}}, `keeps "token"`},
		{items[1], &hubv1.Service{Spec: &hubv1.ServiceSpec{Secrets: map[string]string{"password": "", "token": ""}}}, ""},
		{items[0], nil, `keeps "credentials"`},
		{items[0], &hubv1.Repository{Auth: "none"}, `keeps "credentials"`},
		{items[0], &hubv1.Repository{Auth: "ssh"}, ""},
	} {
		err := c.item.Lacks(c.have)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s with %v: %v, want %q", c.item.Kind, c.have, err, c.want)
		}
	}
	for _, c := range []struct{ kind, annotation, want string }{
		{"GitRepository", "password", "the credentials of a repository stay as a whole"},
		{"Project", "password", "the kind has no secrets"},
		{"GitRepository", "credentials,", "has an empty name"},
	} {
		_, err := read(t, "apiVersion: deployments.plural.sh/v1alpha1\nkind: "+c.kind+"\nmetadata: {name: x, annotations: {axle-cd.github.io/stored-secrets: \""+c.annotation+"\"}}\nspec: {"+map[string]string{"Project": "name: x", "GitRepository": "url: https://git.example.test/x"}[c.kind]+"}\n")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %q: %v, want %q", c.kind, c.annotation, err, c.want)
		}
	}
}

func TestExportSaysWhatTheKindDoesNotHave(t *testing.T) {
	exported, err := manifest.Exporter{}.Repository(&hubv1.Repository{
		Name: "charts", Project: "shop", Type: "oci", Url: "oci://registry.example.test/charts", Auth: "aws", Options: &hubv1.RepositoryOptions{Region: "eu-west-1", Proxy: "http://proxy.example.test"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(exported.Notes, "\n"); len(exported.Notes) != 2 || !strings.Contains(all, "project, shop") || !strings.Contains(all, "options.region") {
		t.Errorf("notes: %q", exported.Notes)
	}
	for _, c := range []struct {
		have proto.Message
		want string
	}{
		{&hubv1.Repository{Name: "files", Type: "bucket", Url: "s3://files"}, "no kind declares repositories of the type bucket"},
		{&hubv1.Service{Cluster: "edge-1", Name: "web", Spec: &hubv1.ServiceSpec{Secrets: map[string]string{"a,b": ""}}}, "commas"},
		{&hubv1.Service{Cluster: "edge-1", Name: "web", Spec: &hubv1.ServiceSpec{Renderers: []*hubv1.Renderer{{Path: "a", Type: "HELM", Helm: &hubv1.Helm{LuaScript: "x"}}}}}, "ServiceDeployment edge-1/web: renderers has no field in the kind"},
	} {
		if _, err := export(manifest.Exporter{}, c.have); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.have, err, c.want)
		}
	}
}

// TestExportForTheOperator has a namespace, which must not move the service.
func TestExportForTheOperator(t *testing.T) {
	exported, err := manifest.Exporter{Namespace: "platform"}.Service(&hubv1.Service{Cluster: "edge-1", Name: "web", Spec: &hubv1.ServiceSpec{Repository: "fleet"}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := exported.YAML()
	if err != nil {
		t.Fatal(err)
	}
	var have v1alpha1.ServiceDeployment
	if err := yaml.UnmarshalStrict(text, &have); err != nil {
		t.Fatal(err)
	}
	if have.Name != "web.edge-1" || have.Namespace != "platform" || have.Spec.Namespace == nil || *have.Spec.Namespace != "web" {
		t.Errorf("exported:\n%s", text)
	}
}
