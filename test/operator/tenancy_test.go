package operator_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/eventually"
)

// tenant makes a namespace whose Secrets the operator may read, and an account of the
// hub with rights on one cluster. It returns the namespace.
func (b *bed) tenant(account, cluster string) string {
	b.Helper()
	namespace := b.cluster.Namespace(b)
	b.opened(namespace)
	ask(b, b.people.Clusters.Create, &hubv1.CreateClusterRequest{Name: cluster})
	ask(b, b.people.ServiceAccounts.Create, &hubv1.CreateServiceAccountRequest{Name: account})
	ask(b, b.people.Bindings.Create, &hubv1.CreateBindingRequest{
		SubjectKind: "service_account", Subject: account, Actions: []string{"read", "write", "create"}, Place: &hubv1.Place{Cluster: cluster},
	})
	return namespace
}

// opened lets the operator read the Secrets and ConfigMaps of a namespace.
func (b *bed) opened(namespace string) {
	b.Helper()
	b.bind("axle-operator-tenant", namespace)
}

// writable lets the operator write the Secrets of a namespace.
func (b *bed) writable(namespace string) {
	b.Helper()
	b.bind("axle-operator-secrets", namespace)
}

func (b *bed) bind(role, namespace string) {
	b.Helper()
	b.apply("apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: " + role + ", namespace: " + namespace + "}\n" +
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: " + role + "}\n" +
		"subjects: [{kind: ServiceAccount, name: axle-operator, namespace: " + b.namespace + "}]")
}

// issue writes a new token of an account to a Secret, and returns its id.
func (b *bed) issue(account, namespace string) string {
	b.Helper()
	made := ask(b, b.people.ServiceAccounts.CreateToken, &hubv1.CreateServiceAccountTokenRequest{Account: account, Name: "run", Scopes: []string{"read", "write"}})
	b.secret("hub", namespace, map[string]string{"token": made.GetSecret()})
	return made.GetToken().GetId()
}

// secret creates or replaces a Secret.
func (b *bed) secret(name, namespace string, values map[string]string) {
	b.Helper()
	text := ""
	for k, v := range values {
		text += fmt.Sprintf("%s: %q, ", k, v)
	}
	b.apply("apiVersion: v1\nkind: Secret\nmetadata: {name: " + name + ", namespace: " + namespace + "}\nstringData: {" + text + "}")
}

func credentials(name, secretNamespace string, namespaces ...string) string {
	return "apiVersion: deployments.plural.sh/v1alpha1\nkind: NamespaceCredentials\nmetadata: {name: " + name + "}\n" +
		"spec: {namespaces: [" + strings.Join(namespaces, ", ") + "], secretRef: {name: hub, namespace: " + secretNamespace + "}}"
}

const tenantService = `apiVersion: deployments.plural.sh/v1alpha1
kind: ServiceDeployment
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  cluster: %[3]s
  namespace: web
  detach: true
  repositoryRef: {name: fleet}
  git: {ref: main, folder: web}
  configuration: {color: %[4]s}`

// shared declares the repository that tenants use.
func (b *bed) shared() {
	b.Helper()
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: GitRepository\nmetadata: {name: fleet}\nspec: {url: " + b.fleet() + "}")
	b.synchronized(&v1alpha1.GitRepository{ObjectMeta: meta1("fleet", "")})
}

func TestNamespaceCredentials(t *testing.T) {
	b := newBed(t)
	team := b.tenant("team-a", "edge-1")
	ask(b, b.people.Clusters.Create, &hubv1.CreateClusterRequest{Name: "core-1"})
	b.operate()
	b.shared()
	b.apply(fmt.Sprintf(tenantService, "web", team, "edge-1", "red"))
	s := &v1alpha1.ServiceDeployment{ObjectMeta: meta1("web", team)}
	b.want(s, "Synchronized", "False", "Error", "no NamespaceCredentials name it")
	b.want(s, "NamespacedCredentials", "False", "Error", "")

	// First the credentials come, then their Secret.
	b.apply(credentials("a", team, team))
	nc := &v1alpha1.NamespaceCredentials{ObjectMeta: meta1("a", "")}
	b.want(nc, "Ready", "False", "NotFound", "Secret "+team+"/hub of spec.secretRef of NamespaceCredentials a does not exist")
	b.want(s, "Synchronized", "False", "NotFound", "Secret "+team+"/hub")
	first := b.issue("team-a", team)
	b.want(nc, "Ready", "True", "Ready", "act as team-a")
	b.synchronized(s)
	b.want(s, "NamespacedCredentials", "True", "NamespacedCredentials", "NamespaceCredentials a are used")
	get := &hubv1.GetServiceRequest{Ref: &hubv1.ServiceRef{Cluster: "edge-1", Name: "web"}}
	byHub(b, ask(b, b.people.Services.Get, get).GetManagedBy(), "operator", "/ServiceDeployment.deployments.plural.sh/"+team+"/web")
	if *nc.Status.TokenSHA == "" {
		t.Errorf("status %+v", nc.Status)
	}
	b.idle(s)
	b.idle(nc)

	// What the account may not do, its objects may not do either.
	b.apply(fmt.Sprintf(tenantService, "theirs", team, "core-1", "red"))
	theirs := &v1alpha1.ServiceDeployment{ObjectMeta: meta1("theirs", team)}
	b.want(theirs, "Synchronized", "False", "Error", "")
	absent(b, b.people.Services.Get, &hubv1.GetServiceRequest{Ref: &hubv1.ServiceRef{Cluster: "core-1", Name: "theirs"}})

	// A revoked token shows the hub's error; the next one acts at once.
	ask(b, b.people.Tokens.Revoke, &hubv1.RevokeTokenRequest{Id: first})
	b.apply(fmt.Sprintf(tenantService, "web", team, "edge-1", "blue"))
	b.want(s, "Synchronized", "False", "Error", "was revoked")
	b.want(s, "NamespacedCredentials", "True", "NamespacedCredentials", "")
	sha := *nc.Status.TokenSHA
	b.issue("team-a", team)
	b.synchronized(s)
	if have := ask(b, b.people.Services.Get, get); have.GetSpec().GetConfiguration()["color"] != "blue" {
		t.Errorf("with the new token: %v", have.GetSpec())
	}
	eventually.For(t, limit, "the hash of the credentials shows the Secret", func() error {
		b.want(nc, "Ready", "True", "Ready", "")
		if *nc.Status.TokenSHA == sha {
			return errors.New("it is that of the first")
		}
		return nil
	})

	// Without credentials, the object waits for its deletion.
	if err := b.Delete(t.Context(), nc); err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	b.want(s, "Synchronized", "False", "Error", "no NamespaceCredentials name it")
	ask(b, b.people.Services.Get, get)
	b.apply(credentials("b", team, team))
	b.gone(s)
	absent(b, b.people.Services.Get, get)
}

// Of two that name a namespace, none acts there, and both say so.
func TestTwoNamespaceCredentials(t *testing.T) {
	b := newBed(t)
	team := b.tenant("team-a", "edge-1")
	b.issue("team-a", team)
	b.operate()
	b.shared()
	b.apply(credentials("a", team, team))
	b.apply(fmt.Sprintf(tenantService, "web", team, "edge-1", "red"))
	s := &v1alpha1.ServiceDeployment{ObjectMeta: meta1("web", team)}
	b.synchronized(s)
	b.secret("hub", b.namespace, map[string]string{"token": b.hub.AdminToken})
	b.apply(credentials("b", b.namespace, team))
	one, two := &v1alpha1.NamespaceCredentials{ObjectMeta: meta1("a", "")}, &v1alpha1.NamespaceCredentials{ObjectMeta: meta1("b", "")}
	for _, o := range []client.Object{one, two, s} {
		b.want(o, "Synchronized", "False", "Error", "a and b name namespace "+team)
	}
	b.deleted(two)
	b.synchronized(one)
	b.synchronized(s)
	b.want(s, "NamespacedCredentials", "True", "NamespacedCredentials", "NamespaceCredentials a ")
}

// A Secret that other people may write or read is not used.
func TestSecretsOfNamespaceCredentials(t *testing.T) {
	b := newBed(t)
	team, other := b.tenant("team-a", "edge-1"), b.cluster.Namespace(t)
	b.opened(other)
	for _, namespace := range []string{team, other, b.namespace} {
		b.issue("team-a", namespace)
	}
	b.operate()
	for _, c := range []struct {
		name, secret string
		namespaces   []string
		says         string
	}{
		{"of-another", other, []string{team}, "must lie in an admin namespace"},
		{"of-one-of-two", team, []string{team, other}, "must lie in an admin namespace"},
		{"of-nobody", team, nil, "spec.namespaces is empty"},
		{"of-admins", b.namespace, []string{b.namespace}, "is an admin namespace"},
		{"own", team, []string{team}, ""},
		{"admin", b.namespace, []string{team, other}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.apply(credentials(c.name, c.secret, c.namespaces...))
			nc := &v1alpha1.NamespaceCredentials{ObjectMeta: meta1(c.name, "")}
			if c.says == "" {
				b.want(nc, "Ready", "True", "Ready", "act as team-a")
			} else {
				b.want(nc, "Ready", "False", "Error", c.says)
			}
			b.deleted(nc)
		})
	}
}

// Objects of different credentials are reconciled at the same time.
func TestCredentialsInParallel(t *testing.T) {
	b := newBed(t)
	teams := map[string]string{"team-a": b.tenant("team-a", "edge-1"), "team-b": b.tenant("team-b", "edge-2")}
	b.operate()
	b.shared()
	var mu sync.Mutex
	tokens, both := map[string]bool{}, make(chan struct{})
	b.gate.setBefore(func(call, token string) {
		if call != "Services/Apply" {
			return
		}
		mu.Lock()
		tokens[token] = true
		if len(tokens) == len(teams) {
			select {
			case <-both:
			default:
				close(both)
			}
		}
		mu.Unlock()
		select {
		case <-both:
		case <-time.After(limit):
			b.Error("a call with one token waits for the one with the other")
		}
	})
	for account, namespace := range teams {
		b.issue(account, namespace)
		b.apply(credentials(account, namespace, namespace))
		b.apply(fmt.Sprintf(tenantService, "web", namespace, map[string]string{"team-a": "edge-1", "team-b": "edge-2"}[account], "red"))
	}
	for _, namespace := range teams {
		b.synchronized(&v1alpha1.ServiceDeployment{ObjectMeta: meta1("web", namespace)})
	}
}

// A Secret that changes outside of the admin namespaces is noticed.
func TestSecretsOfTenantsAreWatched(t *testing.T) {
	b := newBed(t)
	team := b.tenant("team-a", "edge-1")
	b.issue("team-a", team)
	b.operate()
	b.shared()
	b.apply(credentials("a", team, team))
	b.secret("values", team, map[string]string{"key": "first"})
	b.apply(fmt.Sprintf(tenantService, "web", team, "edge-1", "red") + "\n  configurationRef: {name: values}")
	s := &v1alpha1.ServiceDeployment{ObjectMeta: meta1("web", team)}
	b.synchronized(s)
	writes := b.gate.count("Services/Apply")
	b.secret("values", team, map[string]string{"key": "second"})
	b.counted(writes+1, "Services/Apply")
}
