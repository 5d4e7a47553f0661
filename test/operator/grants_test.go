package operator_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/eventually"
)

// referenceTypes are the types whose fields name an object.
var referenceTypes = []reflect.Type{
	reflect.TypeFor[v1alpha1.ObjectReference](), reflect.TypeFor[v1alpha1.SecretReference](), reflect.TypeFor[v1alpha1.LocalReference](),
	reflect.TypeFor[v1alpha1.KeySelector](), reflect.TypeFor[v1alpha1.NamespacedName](),
	reflect.TypeFor[v1alpha1.ConfigMapReference](), reflect.TypeFor[v1alpha1.TemplateReference](), reflect.TypeFor[v1alpha1.BackendReference](),
}

// references walks a type, and calls f with the path of each field that names an
// object: by its type, or by its name.
func references(path string, of reflect.Type, f func(path string)) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
		path += map[reflect.Kind]string{reflect.Slice: "[]", reflect.Map: ".*"}[of.Kind()]
		of = of.Elem()
	}
	if slices.Contains(referenceTypes, of) {
		f(path)
		return
	}
	if of.Kind() != reflect.Struct || !strings.HasPrefix(of.PkgPath(), "github.com/axle-cd/axle/api") {
		return
	}
	for _, field := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if len(field.Index) > 1 || name == "" && !field.Anonymous {
			continue
		}
		inner := strings.TrimSuffix(path+"."+name, ".")
		found := false
		references(inner, field.Type, func(path string) { found = true; f(path) })
		if named := strings.HasSuffix(field.Name, "Ref") || strings.HasSuffix(field.Name, "Refs"); named && !found && field.Name != "Ref" {
			f(inner)
		}
	}
}

// everyReference returns "Kind path" of each field that names an object.
func everyReference(t *testing.T) []string {
	t.Helper()
	known := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(known); err != nil {
		t.Fatal(err)
	}
	if err := axlev1alpha1.AddToScheme(known); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, version := range []schema.GroupVersion{v1alpha1.GroupVersion, axlev1alpha1.GroupVersion} {
		for name, of := range known.KnownTypes(version) {
			spec, ok := of.FieldByName("Spec")
			if _, isKind := kinds.Of(version.Group, name); !ok || !isKind {
				continue
			}
			references("spec", spec.Type, func(path string) { all = append(all, name+" "+path) })
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// The words of testdata/references.txt.
const (
	isStored    = "stored"     // nothing reads the kind yet
	isOfAgents  = "agent"      // the kind belongs in the cluster of an agent
	isNotActing = "not-acting" // the field has no effect yet
	isHub       = "hub"        // a name of the hub, which decides who may use it
	isLocal     = "local"      // it cannot name another namespace
	isGlobal    = "global"     // of a cluster-scoped kind: a namespace is ignored
	isGuarded   = "namespaced" // another namespace needs a grant
	isToken     = "token"      // of NamespaceCredentials, see TestSecretsOfNamespaceCredentials
)

// rows reads the table of references: what each field names.
func rows(t *testing.T) map[string]string {
	t.Helper()
	file, err := os.Open("testdata/references.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}()
	out := map[string]string{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if line := lines.Text(); line != "" && !strings.HasPrefix(line, "#") {
			at := strings.LastIndex(line, " ")
			out[line[:at]] = line[at+1:]
		}
	}
	return out
}

// Every field that names an object has a row that says what becomes of it, and a field
// that acts has cells that are executed.
func TestEveryReferenceHasARow(t *testing.T) {
	table := rows(t)
	for _, field := range everyReference(t) {
		is, ok := table[field]
		delete(table, field)
		name, path, _ := strings.Cut(field, " ")
		row, exists := kinds.Of(kinds.Deployments, name)
		if !exists {
			row, _ = kinds.Of(kinds.Axle, name)
		}
		want := ""
		switch {
		case !ok:
			t.Errorf("%s: a field names an object and has no row in testdata/references.txt", field)
			continue
		case row.Cluster:
			want = isOfAgents
		case row.Level != kinds.Full:
			want = isStored
		case slices.ContainsFunc(row.NotActing, func(p string) bool {
			return p == path || strings.HasPrefix(path, p+".") || strings.HasPrefix(path, p+"[")
		}):
			want = isNotActing
		}
		_, executed := cells[field]
		switch {
		case want != "" && is != want:
			t.Errorf("%s is %s in testdata/references.txt, want %s", field, is, want)
		case want == "" && !slices.Contains([]string{isHub, isLocal, isGlobal, isGuarded, isToken}, is):
			t.Errorf("%s acts, and is %s in testdata/references.txt", field, is)
		case (is == isGuarded || is == isGlobal) != executed:
			t.Errorf("%s is %s, and has cells: %v", field, is, executed)
		}
	}
	for field := range table {
		t.Errorf("testdata/references.txt has %s, which is no field", field)
	}
}

// cell is a field that acts: the rest of an object with a reference into a namespace.
type cell struct {
	group, kind string
	// to is the kind that the field names.
	to string
	// spec has %s for the namespace.
	spec string
}

var cells = map[string]cell{
	"Cluster spec.projectRef":                                      {kinds.Deployments, "Cluster", "", "{providerRef: {name: play}, projectRef: {name: shop, namespace: %s}}"},
	"Cluster spec.providerRef":                                     {kinds.Deployments, "Cluster", "", "{providerRef: {name: play, namespace: %s}}"},
	"BootstrapToken spec.projectRef":                               {kinds.Deployments, "BootstrapToken", "", "{projectRef: {name: shop, namespace: %s}, tokenSecretRef: {name: boot}}"},
	"BootstrapToken spec.tokenSecretRef":                           {kinds.Deployments, "BootstrapToken", "Secret", "{projectRef: {name: shop}, tokenSecretRef: {name: boot, namespace: %s}}"},
	"GitRepository spec.credentialsRef":                            {kinds.Deployments, "GitRepository", "Secret", "{url: 'https://git.example/x', credentialsRef: {name: values, namespace: %s}}"},
	"GlobalService spec.projectRef":                                {kinds.Deployments, "GlobalService", "", "{tags: {tier: none}, projectRef: {name: shop, namespace: %s}, template: {repositoryRef: {name: fleet}, git: {ref: main, folder: web}}}"},
	"GlobalService spec.serviceRef":                                {kinds.Deployments, "GlobalService", "ServiceDeployment", "{tags: {tier: none}, serviceRef: {name: named, namespace: %s}}"},
	"GlobalService spec.template.configurationRef":                 {kinds.Deployments, "GlobalService", "Secret", "{tags: {tier: none}, template: {configurationRef: {name: values, namespace: %s}, repositoryRef: {name: fleet}, git: {ref: main, folder: web}}}"},
	"GlobalService spec.template.repositoryRef":                    {kinds.Deployments, "GlobalService", "", "{tags: {tier: none}, template: {repositoryRef: {name: fleet, namespace: %s}, git: {ref: main, folder: web}}}"},
	"GlobalService spec.template.helm.repositoryRef":               {kinds.Deployments, "GlobalService", "", "{tags: {tier: none}, template: {helm: {repositoryRef: {name: fleet, namespace: %s}, git: {ref: main, folder: web}}}}"},
	"GlobalService spec.template.sources[].repositoryRef":          {kinds.Deployments, "GlobalService", "", "{tags: {tier: none}, template: {repositoryRef: {name: fleet}, git: {ref: main, folder: web}, sources: [{path: more, repositoryRef: {name: fleet, namespace: %s}, git: {ref: main, folder: web}}]}}"},
	"ClusterSync spec.projectRef":                                  {kinds.Deployments, "ClusterSync", "", "{projectRef: {name: shop, namespace: %s}, tags: {tier: none}, clusterSpec: {metadata: {name: x}}}"},
	"GeneratedSecret spec.configurationRef":                        {kinds.Deployments, "GeneratedSecret", "Secret", "{template: {a: '{{ configuration.password }}'}, configurationRef: {name: values, namespace: %s}}"},
	"HelmRepository spec.auth.basic.passwordSecretRef":             helm("BASIC", "basic: {username: a, passwordSecretRef: %s}"),
	"HelmRepository spec.auth.bearer.tokenSecretRef":               helm("BEARER", "bearer: {tokenSecretRef: %s}"),
	"HelmRepository spec.auth.aws.secretAccessKeySecretRef":        helm("AWS", "aws: {accessKey: AKIA, secretAccessKeySecretRef: %s}"),
	"HelmRepository spec.auth.azure.clientSecretSecretRef":         helm("AZURE", "azure: {clientId: a, tenantId: b, clientSecretSecretRef: %s}"),
	"HelmRepository spec.auth.gcp.applicationCredentialsSecretRef": helm("GCP", "gcp: {applicationCredentialsSecretRef: %s}"),
	"ManagedNamespace spec.projectRef":                             {kinds.Deployments, "ManagedNamespace", "", "{target: {tags: {tier: none}}, projectRef: {name: shop, namespace: %s}}"},
	"ManagedNamespace spec.service.configurationRef":               {kinds.Deployments, "ManagedNamespace", "Secret", "{target: {tags: {tier: none}}, service: {configurationRef: {name: values, namespace: %s}, repositoryRef: {name: fleet}, git: {ref: main, folder: web}}}"},
	"ManagedNamespace spec.service.repositoryRef":                  {kinds.Deployments, "ManagedNamespace", "", "{target: {tags: {tier: none}}, service: {repositoryRef: {name: fleet, namespace: %s}, git: {ref: main, folder: web}}}"},
	"ManagedNamespace spec.service.helm.repositoryRef":             {kinds.Deployments, "ManagedNamespace", "", "{target: {tags: {tier: none}}, service: {helm: {repositoryRef: {name: fleet, namespace: %s}, git: {ref: main, folder: web}}}}"},
	"ManagedNamespace spec.service.sources[].repositoryRef":        {kinds.Deployments, "ManagedNamespace", "", "{target: {tags: {tier: none}}, service: {repositoryRef: {name: fleet}, git: {ref: main, folder: web}, sources: [{path: more, repositoryRef: {name: fleet, namespace: %s}, git: {ref: main, folder: web}}]}}"},
	"NotificationSink spec.projectRef":                             {kinds.Deployments, "NotificationSink", "", "{type: PLURAL, bindings: [{userEmail: a@example.com}], projectRef: {name: shop, namespace: %s}}"},
	"NotificationRouter spec.projectRef":                           {kinds.Deployments, "NotificationRouter", "", "{events: ['*'], sinks: [{name: told}], projectRef: {name: shop, namespace: %s}}"},
	"NotificationRouter spec.sinks[]":                              {kinds.Deployments, "NotificationRouter", "NotificationSink", "{events: ['*'], sinks: [{name: told, namespace: %s}]}"},
	"NotificationRouter spec.filters[].clusterRef":                 {kinds.Deployments, "NotificationRouter", "Cluster", "{events: ['*'], sinks: [{name: told}], filters: [{clusterRef: {name: edge, namespace: %s}}]}"},
	"NotificationRouter spec.filters[].serviceRef":                 {kinds.Deployments, "NotificationRouter", "ServiceDeployment", "{events: ['*'], sinks: [{name: told}], filters: [{serviceRef: {name: named, namespace: %s}}]}"},
	"ServiceAccount spec.tokenSecretRef":                           {kinds.Deployments, "ServiceAccount", "Secret", "{email: edge@example.test, tokenSecretRef: {name: token, namespace: %s}}"},
	"ServiceContext spec.configMapRef":                             {kinds.Deployments, "ServiceContext", "ConfigMap", "{configMapRef: {name: values, namespace: %s}}"},
	"ServiceContext spec.configMapRefs[]":                          {kinds.Deployments, "ServiceContext", "ConfigMap", "{configMapRefs: [{name: values, namespace: %s}]}"},
	"ServiceContext spec.secretRef":                                {kinds.Deployments, "ServiceContext", "Secret", "{secretRef: {name: values, namespace: %s}}"},
	"ServiceContext spec.projectRef":                               {kinds.Deployments, "ServiceContext", "", "{projectRef: {name: shop, namespace: %s}}"},
	"ServiceDeployment spec.clusterRef":                            {kinds.Deployments, "ServiceDeployment", "Cluster", "{clusterRef: {name: edge, namespace: %s}, repositoryRef: {name: fleet}, git: {ref: main, folder: web}}"},
	"ServiceDeployment spec.configurationRef":                      {kinds.Deployments, "ServiceDeployment", "Secret", "{cluster: edge-1, configurationRef: {name: values, namespace: %s}, repositoryRef: {name: fleet}, git: {ref: main, folder: web}}"},
	"ServiceDeployment spec.projectRef":                            {kinds.Deployments, "ServiceDeployment", "", "{cluster: edge-1, projectRef: {name: shop, namespace: %s}, repositoryRef: {name: fleet}, git: {ref: main, folder: web}}"},
	"ServiceDeployment spec.repositoryRef":                         {kinds.Deployments, "ServiceDeployment", "", "{cluster: edge-1, repositoryRef: {name: fleet, namespace: %s}, git: {ref: main, folder: web}}"},
	"ServiceDeployment spec.helm.repositoryRef":                    {kinds.Deployments, "ServiceDeployment", "", "{cluster: edge-1, helm: {repositoryRef: {name: fleet, namespace: %s}, git: {ref: main, folder: web}}}"},
	"ServiceDeployment spec.sources[].repositoryRef":               {kinds.Deployments, "ServiceDeployment", "", "{cluster: edge-1, repositoryRef: {name: fleet}, git: {ref: main, folder: web}, sources: [{path: more, repositoryRef: {name: fleet, namespace: %s}, git: {ref: main, folder: web}}]}"},
	"ServiceDeployment spec.sourceRef":                             {kinds.Deployments, "ServiceDeployment", "GitRepository", "{cluster: edge-1, sourceRef: {kind: GitRepository, name: podinfo, namespace: %s}, git: {folder: web}}"},
	"ServiceDeployment spec.sources[].sourceRef":                   {kinds.Deployments, "ServiceDeployment", "GitRepository", "{cluster: edge-1, repositoryRef: {name: fleet}, git: {ref: main, folder: web}, sources: [{path: more, sourceRef: {kind: GitRepository, name: podinfo, namespace: %s}, git: {folder: web}}]}"},
	"GlobalService spec.template.sourceRef":                        {kinds.Deployments, "GlobalService", "GitRepository", "{tags: {tier: none}, template: {sourceRef: {kind: GitRepository, name: podinfo, namespace: %s}, git: {folder: web}}}"},
	"GlobalService spec.template.sources[].sourceRef":              {kinds.Deployments, "GlobalService", "GitRepository", "{tags: {tier: none}, template: {repositoryRef: {name: fleet}, git: {ref: main, folder: web}, sources: [{path: more, sourceRef: {kind: GitRepository, name: podinfo, namespace: %s}, git: {folder: web}}]}}"},
	"ManagedNamespace spec.service.sourceRef":                      {kinds.Deployments, "ManagedNamespace", "GitRepository", "{target: {tags: {tier: none}}, service: {sourceRef: {kind: GitRepository, name: podinfo, namespace: %s}, git: {folder: web}}}"},
	"ManagedNamespace spec.service.sources[].sourceRef":            {kinds.Deployments, "ManagedNamespace", "GitRepository", "{target: {tags: {tier: none}}, service: {repositoryRef: {name: fleet}, git: {ref: main, folder: web}, sources: [{path: more, sourceRef: {kind: GitRepository, name: podinfo, namespace: %s}, git: {folder: web}}]}}"},
	"ServiceDeployment spec.helm.valuesFrom":                       {kinds.Deployments, "ServiceDeployment", "Secret", "{cluster: edge-1, helm: {repositoryRef: {name: fleet}, git: {ref: main, folder: web}, valuesFrom: {name: chart, namespace: %s}}}"},
	"GlobalService spec.template.helm.valuesFrom":                  {kinds.Deployments, "GlobalService", "Secret", "{tags: {tier: none}, template: {helm: {repositoryRef: {name: fleet}, git: {ref: main, folder: web}, valuesFrom: {name: chart, namespace: %s}}}}"},
	"ManagedNamespace spec.service.helm.valuesFrom":                {kinds.Deployments, "ManagedNamespace", "Secret", "{target: {tags: {tier: none}}, service: {helm: {repositoryRef: {name: fleet}, git: {ref: main, folder: web}, valuesFrom: {name: chart, namespace: %s}}}}"},
	"GitRepository spec.connectionRef":                             {kinds.Deployments, "GitRepository", "", "{url: 'https://github.com/x/y', connectionRef: {name: github, namespace: %s}}"},
	"ScmConnection spec.tokenSecretRef":                            {kinds.Deployments, "ScmConnection", "Secret", "{name: x, type: GITHUB, tokenSecretRef: {name: values, namespace: %s}}"},
	"ScmConnection spec.github.privateKeyRef":                      {kinds.Deployments, "ScmConnection", "Secret", "{name: x, type: GITHUB, tokenSecretRef: {namespace: %s}, github: {appId: '1', privateKeyRef: {name: values, key: password}}}"},
}

// helm is a cell of a chart repository with one way to log in.
func helm(provider, auth string) cell {
	spec := "{url: 'oci://registry.example/charts', provider: " + provider + ", auth: {" + fmt.Sprintf(auth, "{name: values, namespace: %s}") + "}}"
	return cell{kinds.Deployments, "HelmRepository", "Secret", spec}
}

// grant allows objects of a kind of a namespace to name those of another kind in the
// namespace of the grant.
func grant(apiVersion, in string, c cell, from string) string {
	group := ""
	switch c.to {
	case "Cluster", "NotificationSink", "ServiceDeployment":
		group = kinds.Deployments
	case "GitRepository":
		group = "source.toolkit.fluxcd.io"
	}
	return "apiVersion: " + apiVersion + "\nkind: ReferenceGrant\nmetadata: {name: allow, namespace: " + in + "}\n" +
		fmt.Sprintf("spec: {from: [{group: %s, kind: %s, namespace: %q}], to: [{group: %q, kind: %s%s}]}", c.group, c.kind, from, group, c.to, written[c.kind])
}

// written names the Secrets that kinds write, for their grants.
var written = map[string]string{
	"ServiceAccount": ", name: token, write: true", "BootstrapToken": ", name: boot, write: true",
}

const ownGrant = "axle-cd.github.io/v1alpha1"

// Each field that acts, into the own and a foreign namespace, with and without a grant.
func TestReferencesBetweenNamespaces(t *testing.T) {
	b := newBed(t)
	b.neighbours()
	b.installFlux("v1")
	b.operate()
	b.shared()
	for _, namespace := range []string{b.namespace, b.foreign} {
		b.apply("apiVersion: v1\nkind: Secret\nmetadata: {name: chart, namespace: " + namespace + "}\nstringData: {all: 'color: red'}")
		b.flux("GitRepository", "podinfo", namespace, "{interval: 1m, url: '"+b.git.URL("fleet")+"', ref: {branch: main}}")
	}
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: ScmConnection\nmetadata: {name: github}\nspec: {name: github, type: GITHUB, tokenSecretRef: {name: values, namespace: " + b.namespace + "}}")
	// A project with namespaces needs them.
	b.synchronized(&v1alpha1.Project{ObjectMeta: meta1("shop", "")})
	shop := ask(b, b.people.Projects.Get, &hubv1.GetProjectRequest{Name: "shop"})
	ask(b, b.people.Projects.Update, &hubv1.UpdateProjectRequest{Name: "shop", Limits: &hubv1.ProjectLimits{ClusterScoped: true}, Management: &hubv1.Management{By: shop.GetManagedBy()}})
	// A Cluster names a Provider, which is a template.
	ask(b, b.people.Clusters.Create, &hubv1.CreateClusterRequest{Name: "mgmt"})
	b.commit(play("first"))
	b.registered("play")
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: Provider\nmetadata: {name: play}\nspec: {cloud: aws}")
	for field, c := range cells {
		t.Run(strings.ReplaceAll(field, " ", "."), func(t *testing.T) {
			b := &bed{T: t, Client: b.Client, cluster: b.cluster, hub: b.hub, gate: b.gate, people: b.people, namespace: b.namespace, foreign: b.foreign}
			o := &unstructured.Unstructured{}
			o.SetGroupVersionKind(schema.GroupVersionKind{Group: c.group, Version: "v1alpha1", Kind: c.kind})
			name := "cell-" + strings.ToLower(c.kind[:3])
			from := b.namespace
			if mapping, err := b.RESTMapper().RESTMapping(o.GroupVersionKind().GroupKind()); err != nil {
				t.Fatal(err)
			} else if mapping.Scope.Name() == meta.RESTScopeNameRoot {
				from = ""
			}
			o.SetName(name)
			o.SetNamespace(from)
			into := func(namespace string) {
				if c.kind == "BootstrapToken" || field == "GlobalService spec.serviceRef" { // another one would be another object of the hub
					if err := b.Delete(t.Context(), o.DeepCopy()); err != nil && !apierrors.IsNotFound(err) {
						t.Fatal(err)
					}
					b.vanished(o.DeepCopy())
				}
				b.apply("apiVersion: " + c.group + "/v1alpha1\nkind: " + c.kind + "\nmetadata: {name: " + name + ", namespace: '" + from + "', annotations: {axle-cd.github.io/detach: 'true'}}\nspec: " + fmt.Sprintf(c.spec, namespace))
			}
			into(b.namespace)
			b.settled(o, "True", "") // own, without
			into(b.foreign)
			if c.to == "" {
				b.settled(o, "True", "")
			} else {
				b.settled(o, "False", "no ReferenceGrant in namespace "+b.foreign) // foreign, without
				if written[c.kind] != "" {
					reads := c
					reads.to += ", name: token"
					b.apply(strings.ReplaceAll(grant(ownGrant, b.foreign, reads, from), written[c.kind], ""))
					b.settled(o, "False", "write true") // foreign, with a grant to read
				}
				b.apply(grant(ownGrant, b.foreign, c, from))
				b.settled(o, "True", "") // foreign, with
				b.ungrant(ownGrant, b.foreign)
				b.settled(o, "False", "no ReferenceGrant in namespace "+b.foreign) // foreign, with no longer
				b.apply(grant(ownGrant, b.namespace, c, from))
				into(b.namespace)
				b.settled(o, "True", "") // own, with
				b.ungrant(ownGrant, b.namespace)
			}
			if err := b.Delete(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			b.vanished(o)
		})
	}
}

// cloudKey is a key of a service account of Google Cloud.
func cloudKey(t *testing.T) string {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "a@example.com", "private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// neighbours fills both namespaces with what can be named.
func (b *bed) neighbours() {
	b.Helper()
	b.opened(b.foreign)
	b.secret("hub", b.namespace, map[string]string{"token": b.hub.AdminToken})
	b.apply(credentials("foreign", b.namespace, b.foreign))
	ask(b, b.people.Clusters.Create, &hubv1.CreateClusterRequest{Name: "edge-1"})
	for _, namespace := range []string{b.namespace, b.foreign} {
		b.writable(namespace)
		b.secret("values", namespace, map[string]string{
			"password": "a", "token": "b", "secretAccessKey": "c", "clientSecret": "d", "applicationCredentials": cloudKey(b.T),
		})
		b.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: values, namespace: " + namespace + "}\ndata: {zone: eu}")
		b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: Cluster\nmetadata: {name: edge, namespace: " + namespace + "}\nspec: {handle: edge-1}")
		b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: NotificationSink\nmetadata: {name: told, namespace: " + namespace + "}\nspec: {name: told-" + namespace + ", type: PLURAL, bindings: [{userEmail: a@example.com}]}")
		b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: ServiceDeployment\nmetadata: {name: named, namespace: " + namespace + "}\nspec: {name: named-" + namespace + ", cluster: edge-1, repositoryRef: {name: fleet}, git: {ref: main, folder: web}}")
	}
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec: {name: shop}")
}

func (b *bed) ungrant(apiVersion, namespace string) {
	b.Helper()
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind("ReferenceGrant")
	o.SetName("allow")
	o.SetNamespace(namespace)
	if err := b.Delete(b.Context(), o); err != nil {
		b.Fatal(err)
	}
}

// settled waits until the condition Synchronized of the present generation has a
// status, and its message contains a text.
func (b *bed) settled(o *unstructured.Unstructured, status, text string) {
	b.Helper()
	eventually.For(b, limit, o.GetKind()+" has Synchronized "+status, func() error {
		if err := b.Get(b.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		seen, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, c := range conditions {
			if c := c.(map[string]any); c["type"] == "Synchronized" && c["status"] == status && strings.Contains(c["message"].(string), text) && seen == o.GetGeneration() {
				return nil
			}
		}
		return fmt.Errorf("generation %d, status %v", o.GetGeneration(), o.Object["status"])
	})
}

func (b *bed) vanished(o *unstructured.Unstructured) {
	b.Helper()
	eventually.For(b, limit, o.GetName()+" is gone", func() error {
		if err := b.Get(b.Context(), client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
			return fmt.Errorf("%v, %v", err, o.Object["status"])
		}
		return nil
	})
}

// gatewayDefinition is the part of Gateway API's CRD that matters.
const gatewayDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: referencegrants.gateway.networking.k8s.io
  annotations: {api-approved.kubernetes.io: "https://github.com/kubernetes-sigs/gateway-api/pull/2997"}
spec:
  group: gateway.networking.k8s.io
  scope: Namespaced
  names: {kind: ReferenceGrant, listKind: ReferenceGrantList, plural: referencegrants, singular: referencegrant}
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}`

// The operator starts without the kind of Gateway API, honours it when it comes, and
// refuses nothing for a moment when it starts with it.
func TestGatewayReferenceGrants(t *testing.T) {
	b := newBed(t)
	b.neighbours()
	stop := b.operate()
	c := cells["ServiceContext spec.secretRef"]
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: ServiceContext\nmetadata: {name: shared, namespace: " + b.namespace + "}\nspec: " + fmt.Sprintf(c.spec, b.foreign))
	o := &v1alpha1.ServiceContext{ObjectMeta: meta1("shared", b.namespace)}
	b.want(o, "Synchronized", "False", "Error", "no ReferenceGrant")

	const gateway = "gateway.networking.k8s.io/v1beta1"
	b.apply(gatewayDefinition)
	t.Cleanup(func() { b.removeGateway() })
	eventually.For(b, limit, "the kind is served", func() error {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(gateway)
		list.SetKind("ReferenceGrantList")
		return b.List(t.Context(), list)
	})
	b.apply(grant(gateway, b.foreign, c, b.namespace))
	b.synchronized(o)

	// The Secret behind the grant is watched as well.
	writes := b.gate.count("Contexts/Update")
	b.secret("values", b.foreign, map[string]string{"password": "changed"})
	b.counted(writes+1, "Contexts/Update")
	b.synchronized(o)
	since := meta.FindStatusCondition(o.Status.Conditions, "Synchronized").LastTransitionTime

	stop()
	handled := b.reconciles("ServiceContext")
	stop = b.operate()
	eventually.For(b, limit, "the new operator looked at it", func() error {
		if b.reconciles("ServiceContext") == handled {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	b.synchronized(o)
	if now := meta.FindStatusCondition(o.Status.Conditions, "Synchronized").LastTransitionTime; !now.Equal(&since) {
		t.Errorf("it was refused after the restart: Synchronized since %v, before since %v", now, since)
	}
	b.ungrant(gateway, b.foreign)
	b.want(o, "Synchronized", "False", "Error", "no ReferenceGrant")
	stop()
}

func (b *bed) removeGateway() {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("apiextensions.k8s.io/v1")
	o.SetKind("CustomResourceDefinition")
	o.SetName("referencegrants.gateway.networking.k8s.io")
	if err := b.Delete(context.WithoutCancel(b.Context()), o); err != nil {
		b.Error(err)
	}
}
