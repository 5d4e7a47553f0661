package kinds

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/axle-cd/axle/api/kinds"
)

// ofObjects are the fields of objects that api/kinds does not map to a field of a request of
// the same name: `field: becomes: reason`. A field is given as `Kind path`, or as a path for
// all kinds. It becomes a field of a request, as MESSAGE.NAME, or nothing of the hub's,
// or is an expression, which has a line in test/field/expressions.txt.
const ofObjects = `
spec.bindings.ACTION[].userEmail: CreateBindingRequest.subject: sdk/manifest makes a binding of each
spec.bindings.ACTION[].groupName: CreateBindingRequest.subject: the same
spec.bindings.ACTION[].UserID: CreateBindingRequest.subject: refused, since the hub has no such ids
spec.bindings.ACTION[].groupID: CreateBindingRequest.subject: the same
spec.bindings.ACTION[].id: CreateBindingRequest.subject: the same
AccessBinding spec.subjects[].user: CreateBindingRequest.subject: a call for each
AccessBinding spec.subjects[].group: CreateBindingRequest.subject: the same
AccessBinding spec.subjects[].serviceAccount: CreateBindingRequest.subject: the same
GroupMembership spec.members[].serviceAccount: AddMemberRequest.user: a call for each
NotificationSink spec.bindings[].userEmail: NotificationSinkSettings.users: who is notified
NotificationSink spec.bindings[].groupName: NotificationSinkSettings.groups: the same
NotificationSink spec.bindings[].UserID: NotificationSinkSettings.users: refused, since the hub has no such ids
NotificationSink spec.bindings[].groupID: NotificationSinkSettings.groups: the same
NotificationSink spec.bindings[].id: NotificationSinkSettings.users: the same
NotificationSink spec.configuration.slack.url: ApplyNotificationSinkRequest.url: of one type
NotificationSink spec.configuration.teams.url: ApplyNotificationSinkRequest.url: of another
NotificationSink spec.configuration.plural.priority: NotificationSinkSettings.priority: of a third
OIDCProvider spec.name: ApplyApplicationRequest.name: an application by another name
OIDCProvider spec.redirectUris: ApplicationSettings.redirect_uris: the same
FederatedCredential spec.user: CreateTrustRequest.account: the account that logs in
FederatedCredential spec.claimsLike: CreateTrustRequest.claims: patterns of claims
ProjectLimits spec.project: UpdateProjectRequest.name: the project that is limited
AdminGrant spec.serviceAccount: SetAdminRequest.name: the account that becomes an administrator
ServiceDeployment spec.cluster: ServiceRef.cluster: where the service is
ServiceDeployment spec.name: ServiceRef.name: the service itself
GlobalService spec.template.name: ApplyGlobalServiceRequest.name: the services' own name
ManagedNamespace spec.service.name: nothing: it has no effect; the service is called after the namespace
ClusterRegistration spec.templateRef: FromTemplate.template: the template by its name in the hub
ClusterRegistration spec.managementCluster: FromTemplate.management_cluster: one of the template's
Cluster spec.providerRef: FromTemplate.template: the name of the Provider is that of a template
Provider spec.name: FromTemplate.template: the same
Provider spec.cloud: nothing: one of three words
Cluster spec.cloud: nothing: must be that of the Provider
Cluster spec.version: FromTemplate.variables: a variable of the template, as the following
Cluster spec.cloudSettings.aws.region: FromTemplate.variables: the same
Cluster spec.cloudSettings.azure.location: FromTemplate.variables: the same
Cluster spec.cloudSettings.azure.network: FromTemplate.variables: the same
Cluster spec.cloudSettings.azure.resourceGroup: FromTemplate.variables: the same
Cluster spec.cloudSettings.azure.subscriptionId: FromTemplate.variables: the same
Cluster spec.cloudSettings.gcp.network: FromTemplate.variables: the same
Cluster spec.cloudSettings.gcp.project: FromTemplate.variables: the same
Cluster spec.cloudSettings.gcp.region: FromTemplate.variables: the same
Cluster spec.nodePools[].cloudSettings.aws.launchTemplateId: FromTemplate.variables: the same
Cluster spec.nodePools[].instanceType: FromTemplate.variables: the same
Cluster spec.nodePools[].labels: FromTemplate.variables: the same
Cluster spec.nodePools[].name: FromTemplate.variables: the same
Cluster spec.nodePools[].taints[].effect: FromTemplate.variables: the same
Cluster spec.nodePools[].taints[].key: FromTemplate.variables: the same
Cluster spec.nodePools[].taints[].value: FromTemplate.variables: the same
ClusterSync spec.projectRef: ListClustersRequest.project: which clusters are listed, with the operator's rights
ClusterSync spec.tags: ListClustersRequest.tags: the same
ClusterSync spec.clusterSpec.metadata: UpdateClusterRequest.name: the object that is written is a Cluster, which has the fields above
ClusterSync spec.clusterSpec.spec.handle: UpdateClusterRequest.handle: the same
ClusterSync spec.clusterSpec.spec.tags: UpdateClusterRequest.tags: the same
ClusterSync spec.clusterSpec.spec.metadata: UpdateClusterRequest.metadata: the same
ClusterSync spec.clusterSpec.spec.projectRef: MoveClusterRequest.project: the same
ClusterSync spec.clusterSpec.spec.bindings.ACTION: CreateBindingRequest.subject: the same
ClusterSync spec.clusterSpec.spec.protect: an expression: a switch, as text that is rendered
ManagedNamespace spec.target.tags: NamespaceSettings.tags: which clusters have it
ManagedNamespace spec.target.distro: NamespaceSettings.distro: the same
ServiceContext spec.configuration: Context.values: values
GitRepository spec.connectionRef: CreateRepositoryRequest.url: the Secrets of a connection are in references.txt, and its URL must be the repository's host
HelmRepository spec.auth.basic.username: RepositoryCredentials.username: of one way to log in
HelmRepository spec.auth.aws.accessKey: AWSAuth.access_key_id: of another
HelmRepository spec.auth.aws.assumeRoleArn: AWSAuth.assume_role_arn: of the same
HelmRepository spec.auth.azure.clientId: AzureAuth.client_id: an application of Azure
HelmRepository spec.auth.azure.tenantId: AzureAuth.tenant_id: of the same
HelmRepository spec.auth.proxy.url: RepositoryCredentials.proxy: between the hub and the registry
HelmRepository spec.provider: CreateRepositoryRequest.auth: how to log in

spec.reconciliation.interval: nothing: when the operator looks again
AgentUpgrade spec.soak: nothing: a time
FederationTrust spec.lifetime: nothing: a time
RegistrationToken spec.lifetime: nothing: a time
ServiceAccount spec.tokenExpiry: nothing: a time
ServiceContext spec.configMapRefs[].scope: nothing: which part of the ConfigMap is meant
AgentUpgrade spec.state: nothing: one of three calls about an upgrade
GlobalService spec.context.raw: an expression: values of the template
GlobalService spec.rollout.failAfter: nothing: a time
GlobalService spec.rollout.maxFailed: nothing: a number
GlobalService spec.rollout.soak: nothing: a time
GeneratedSecret spec.template: an expression: expressions over Secrets that spec.configurationRef names
GeneratedSecret spec.destinations[].name: nothing: a Secret of the management cluster, written with the rights of the object's namespace
GeneratedSecret spec.destinations[].namespace: nothing: the same
NamespaceCredentials spec.namespaces: nothing: namespaces of the management cluster; only its administrators write the kind
ReferenceGrant spec.from[].group: nothing: a kind of the management cluster
ReferenceGrant spec.from[].kind: nothing: the same
ReferenceGrant spec.from[].namespace: nothing: a namespace of it that is allowed more
ReferenceGrant spec.to[].group: nothing: a kind of it
ReferenceGrant spec.to[].kind: nothing: the same
ReferenceGrant spec.to[].name: nothing: an object of the grant's own namespace
ScmConnection spec.name: nothing: a label; GitRepositories name the object
ScmConnection spec.type: nothing: a kind of Git server
ScmConnection spec.username: nothing: an account of the Git server
ScmConnection spec.azure.username: nothing: the same
ScmConnection spec.apiUrl: nothing: the Git server's own API
ScmConnection spec.baseUrl: nothing: the Git server
ScmConnection spec.proxy.url: nothing: between the hub and the Git server
ScmConnection spec.github.appId: nothing: an application of the Git server
ScmConnection spec.github.installationId: nothing: the same

AgentConfiguration spec.clusterPingInterval: nothing: a time
AgentConfiguration spec.servicePollInterval: nothing: a time
CustomHealth spec.group: nothing: a kind of the agent's cluster; only its administrators write the object
CustomHealth spec.kind: nothing: the same
CustomHealth spec.version: nothing: the same
CustomHealth spec.script: an expression: a rule over one object, which is bounded
CustomHealth spec.expressions.current: an expression: the same
CustomHealth spec.expressions.failed: an expression: the same
CustomHealth spec.expressions.inProgress: an expression: the same
CustomHealth spec.expressions.message: an expression: the same
CustomHealth spec.expressions.suspended: an expression: the same
Dashboard spec.name: nothing: a title
Dashboard spec.description: nothing: a text
Dashboard spec.defaultTime: nothing: a time
Dashboard spec.timeslices: nothing: times
Dashboard spec.graphs[].name: nothing: a title
Dashboard spec.graphs[].format: nothing: one of a few words
Dashboard spec.graphs[].queries[].legend: nothing: a text
Dashboard spec.graphs[].queries[].legendFormat: nothing: a text
Dashboard spec.graphs[].queries[].query: an expression: PromQL, which is limited to the namespaces of who looks
Dashboard spec.labels[].name: nothing: a variable of the queries
Dashboard spec.labels[].query.label: nothing: of the series that the query finds
Dashboard spec.labels[].query.query: an expression: PromQL, the same
Dashboard spec.labels[].values: an expression: values of the variable
LogFilter spec.name: nothing: a title
LogFilter spec.description: nothing: a text
LogFilter spec.labels[].name: nothing: a label of the lines
LogFilter spec.labels[].value: nothing: its value
LogFilter spec.query: an expression: LogQL, which is limited to the namespaces of who looks
LogTail spec.name: nothing: a title
LogTail spec.target: nothing: a workload of the object's own namespace
LogTail spec.container: nothing: a container of it
PluralCAPICluster spec.cluster.handle: UpdateClusterRequest.handle: what the agent asks the hub for, with the object's token
PluralCAPICluster spec.cluster.tags: UpdateClusterRequest.tags: the same
PluralCAPICluster spec.capiClusterRef: CreateClusterRequest.name: a Cluster of the agent's cluster, whose kubeconfig the author may read
PluralCAPICluster spec.consoleTokenSecretRef: CreateBootstrapTokenRequest.name: the token in a Secret of the object's namespace that the author may read`

// expression is what a field becomes that a program of ours evaluates.
const expression = "an expression"

// Every field of an object with an expression has a line in the table of expressions, and
// the reverse.
func TestEveryExpressionOfAnObjectIsInTheTable(t *testing.T) {
	var want, have []string
	for path, becomes := range readNames(t).own {
		if becomes == expression {
			want = append(want, strings.Replace(path, " ", "/", 1))
		}
	}
	for _, line := range lines(t, "../field/expressions.txt") {
		head, _, _ := strings.Cut(line, " | ")
		_, fields, _ := strings.Cut(head, ": ")
		for field := range strings.FieldsSeq(fields) {
			if strings.Contains(field, "/") {
				have = append(have, field)
			}
		}
	}
	slices.Sort(want)
	if slices.Sort(have); !slices.Equal(have, want) {
		t.Errorf("test/field/expressions.txt has %q, and ofObjects %q", have, want)
	}
}

var (
	// bindings have lists of the same for each action.
	bindings = regexp.MustCompile(`\bbindings\.(?:read|write|create|git)\b`)
	// ofReference are the fields of a reference, which names one thing as a whole.
	ofReference = regexp.MustCompile(`\.(?:name|namespace|kind|key|apiVersion|uid|fieldPath|resourceVersion)$`)
)

// names is what is known of fields that name something.
type names struct {
	// requests are the hub's fields, by NAME or MESSAGE.NAME, with the noun that each names.
	requests map[string]string
	// references are the fields that name objects of the management cluster, by `Kind path`,
	// with the word that says how they are resolved.
	references map[string]string
	// same are the fields of requests that api/kinds gives a `Kind path`.
	same map[string][]string
	// own are ofObjects, and used those that were looked up.
	own  map[string]string
	used map[string]bool
}

func readNames(t *testing.T) *names {
	t.Helper()
	n := &names{requests: map[string]string{}, references: map[string]string{}, same: expressed(), own: map[string]string{}, used: map[string]bool{}}
	for _, row := range lines(t, "../../hub/testdata/named_fields.txt") {
		of, rest, _ := strings.Cut(row, ":")
		fields, _, _ := strings.Cut(rest, ":")
		for field := range strings.FieldsSeq(fields) {
			n.requests[field] = of
		}
	}
	for _, row := range lines(t, "../operator/testdata/references.txt") {
		at := strings.LastIndex(row, " ")
		n.references[row[:at]] = row[at+1:]
	}
	for row := range strings.SplitSeq(strings.TrimSpace(ofObjects), "\n") {
		parts := strings.SplitN(row, ": ", 3)
		if row == "" {
			continue
		}
		if len(parts) != 3 || n.own[parts[0]] != "" {
			t.Fatalf("a field, what it becomes and the reason, once: %q", row)
		}
		n.own[parts[0]] = parts[1]
	}
	return n
}

// lines are those of a file that are no comments.
func lines(t *testing.T, file string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	return all
}

// expressed returns, by `Kind path`, the fields of requests that api/kinds names for it, and
// those of the same names below them.
func expressed() map[string][]string {
	all := map[string][]string{}
	var walk func(at string, f protoreflect.FieldDescriptor)
	walk = func(at string, f protoreflect.FieldDescriptor) {
		inner := f.Message()
		if f.IsMap() {
			inner = f.MapValue().Message()
		}
		switch {
		case inner == nil && f.Kind() != protoreflect.StringKind && !(f.IsMap() && f.MapValue().Kind() == protoreflect.StringKind):
			return // a number or a switch names nothing
		case inner == nil:
			all[at] = append(all[at], string(f.Parent().Name())+"."+string(f.Name()))
			return
		case f.IsMap():
			at += ".*"
		case f.IsList():
			at += "[]"
		}
		for i := 0; strings.Count(at, ".") < 6 && i < inner.Fields().Len(); i++ {
			walk(at+"."+inner.Fields().Get(i).JSONName(), inner.Fields().Get(i))
		}
	}
	methods := calls()
	for _, w := range kinds.Writes {
		for name, path := range w.Fields {
			f := methods[w.Call].Input().Fields().ByName(protoreflect.Name(name))
			if kind, at, ok := strings.Cut(path, ":"); ok {
				walk(kind+" "+at, f)
				continue
			}
			for _, kind := range append([]string{w.Kind}, w.Also...) {
				walk(kind+" "+path, f)
			}
		}
	}
	return all
}

// holdsText says whether a field is a text, or a list or a map of texts, or anything.
func holdsText(s *fieldSchema) bool {
	for s.Items != nil || s.AdditionalProperties != nil {
		if s.Items != nil {
			s = s.Items
		} else {
			s = s.AdditionalProperties
		}
	}
	return s.Properties == nil && (s.Type == "string" || s.Open)
}

// undecided are the fields of a kind for which nobody decided what they name, each with what
// is missing.
func (n *names) undecided(k kinds.Kind, fields map[string]*fieldSchema) map[string]string {
	missing := map[string]string{}
	for path, schema := range fields {
		inert := slices.ContainsFunc(k.NotActing, func(p string) bool {
			return p == path || strings.HasPrefix(path, p+".") || strings.HasPrefix(path, p+"[")
		})
		if inert || !strings.HasPrefix(path, "spec.") || !holdsText(schema) {
			continue
		}
		if why := n.decision(k.Name, path); why != "" {
			missing[k.Name+" "+path] = why
		}
	}
	return missing
}

// decision is empty when a field of an object is one of a request that the hub's table has,
// or is resolved in the management cluster and is tested there, or has a row of its own.
func (n *names) decision(kind, path string) string {
	at := bindings.ReplaceAllString(kind+" "+path, "bindings.ACTION")
	whole := ofReference.ReplaceAllString(at, "")
	resolved := n.references[at]
	if resolved == "" {
		resolved = n.references[whole]
	}
	switch resolved {
	case "local", "namespaced", "token":
		return "" // test/operator has cells for each, in its own namespace and in another one
	case "":
		if !strings.HasSuffix(whole, "Ref") {
			whole = at
		}
	}
	var becomes []string
	for _, key := range []string{at, whole, bindings.ReplaceAllString(path, "bindings.ACTION")} {
		if own := n.own[key]; own != "" {
			n.used[key] = true
			becomes = append(becomes, own)
		}
	}
	becomes = append(becomes, n.same[at]...)
	if resolved != "" {
		becomes = append(becomes, n.same[whole]...)
		becomes = append(becomes, n.same[whole+".name"]...)
		becomes = append(becomes, n.same[strings.TrimSuffix(whole, "Ref")]...)
	}
	if len(becomes) == 0 {
		return "no field of a request, and it has no row in ofObjects"
	}
	named := resolved == ""
	for _, field := range becomes {
		_, short, _ := strings.Cut(field, ".")
		of := n.requests[field]
		if of == "" {
			of = n.requests[short]
		}
		if field != "nothing" && field != expression && of == "" {
			return field + " is not in hub/testdata/named_fields.txt"
		}
		named = named || of != "" && of != "nothing"
	}
	if !named {
		return "it is a reference, and nothing that it becomes names anything"
	}
	return ""
}

// Every field of every kind that acts says what it names, so that no object names what a
// request could not, by a way that no test goes.
func TestEveryNameInAnObjectIsOneOfARequest(t *testing.T) {
	n := readNames(t)
	for _, d := range definitions(t) {
		if k := d.row(); k.Level == kinds.Full {
			missing := n.undecided(k, d.fields())
			for _, field := range slices.Sorted(maps.Keys(missing)) {
				t.Errorf("%s: %s", field, missing[field])
			}
		}
	}
	for field := range n.own {
		if !n.used[field] {
			t.Errorf("ofObjects has %s, which is no field, or needs no row", field)
		}
	}
}

// A new field of any shape is noticed.
func TestANewNameInAnObjectIsNoticed(t *testing.T) {
	n := readNames(t)
	text := &fieldSchema{Type: "string"}
	reference := func() *fieldSchema {
		return &fieldSchema{Type: "object", Properties: map[string]*fieldSchema{"name": text, "namespace": text}}
	}
	for path, added := range map[string]*fieldSchema{
		"newClusterRef": reference(), "newSecretRef": reference(), "newRefs": {Type: "array", Items: reference()}, "newRepository": text,
		"newProjects": {Type: "array", Items: text}, "newTags": {Type: "object", AdditionalProperties: text}, "newAnything": {Open: true},
		"newDeep": {Type: "array", Items: &fieldSchema{Type: "object", Properties: map[string]*fieldSchema{"cluster": text}}},
	} {
		for _, d := range definitions(t) {
			k, spec := d.row(), d.root().Properties["spec"]
			if k.Level != kinds.Full || spec.Properties == nil {
				continue
			}
			spec.Properties[path] = added
			found := 0
			for field := range n.undecided(k, d.fields()) {
				if strings.HasPrefix(field, k.Name+" spec."+path) {
					found++
				}
			}
			if found == 0 {
				t.Errorf("%s: nobody notices spec.%s", k.Name, path)
			}
		}
	}
}
