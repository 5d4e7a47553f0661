package tenancy_test

import (
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
)

var (
	configMaps   = kubeobj.Kind{Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespaced: true}
	deployments  = kubeobj.Kind{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespaced: true}
	clusterRoles = kubeobj.Kind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole", Resource: "clusterroles"}
)

func gate() *tenancy.Gate {
	return tenancy.New(&rest.Config{Host: "https://example.test"}, "axle-system")
}

// says compares an error with what it should say; empty is none.
func says(t *testing.T, what string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got %v, want %q", what, err, want)
	}
}

func TestWhoActsForAService(t *testing.T) {
	guest, open := tenancy.Limits{Project: "shop"}, tenancy.Limits{Project: "default"}
	namespaces := func(project string, names ...string) tenancy.Limits {
		return tenancy.Limits{Project: project, Namespaces: names, Closed: true}
	}
	for name, test := range map[string]struct {
		account, namespace string
		limits             tenancy.Limits
		user, refused      string
	}{
		"the admin project":                             {limits: open},
		"a project of administrators":                   {limits: tenancy.Limits{Project: "axle-system", Administrators: true}},
		"another project of that name":                  {limits: tenancy.Limits{Project: "axle-system"}, refused: "project axle-system may not act as the agent"},
		"no project is told":                            {limits: tenancy.Limits{}},
		"the admin project, an account":                 {limits: open, account: "deployer", user: "system:serviceaccount:web:deployer"},
		"the admin project, an account of the cluster":  {limits: open, account: "kube-system/any", user: "system:serviceaccount:kube-system:any"},
		"the admin project, limited, no account":        {limits: namespaces("default", "web"), refused: "project default has limits"},
		"the admin project, limited kinds, no account":  {limits: tenancy.Limits{Project: "default", Kinds: []string{"Job"}}, refused: "set serviceAccount"},
		"the admin project, limited, an account":        {limits: namespaces("default", "web"), account: "deployer", user: "system:serviceaccount:web:deployer"},
		"the admin project, limited, a foreign account": {limits: namespaces("default", "web"), account: "other/any", refused: "accounts of namespace other"},
		"limits without a project":                      {limits: namespaces("", "web"), refused: "set serviceAccount"},
		"another project, no account":                   {limits: guest, refused: "with: axle projects update shop --service-account NAME --allow-account NAMESPACE/NAME"},
		"another project, its account":                  {limits: guest, account: "deployer", user: "system:serviceaccount:web:deployer"},
		"another project, its account in full":          {limits: guest, account: "web/deployer", user: "system:serviceaccount:web:deployer"},
		"another project, a foreign account":            {limits: guest, account: "other/deployer", refused: "accounts of namespace other"},
		"another project, an allowed foreign account":   {limits: namespaces("shop", "web", "oth*"), account: "other/deployer", user: "system:serviceaccount:other:deployer"},
		"another project, the agent's account":          {limits: namespaces("shop", "*"), account: "axle-system/axle-agent", refused: "accounts of namespace axle-system"},
		"the agent's namespace is named":                {limits: namespaces("shop", "web", "axle-system"), account: "axle-system/axle-agent", refused: "accounts of namespace axle-system"},
		"another project, an account of the cluster":    {limits: namespaces("shop", "*"), account: "kube-system/any", refused: "accounts of namespace kube-system"},
		"it is named":                              {limits: namespaces("shop", "web", "kube-system"), account: "kube-system/any", user: "system:serviceaccount:kube-system:any"},
		"the agent's namespace is the service's":   {limits: guest, namespace: "axle-system", account: "axle-agent", refused: "accounts of namespace axle-system"},
		"its own namespace is not allowed":         {limits: namespaces("shop", "team-*"), account: "web/deployer", refused: "namespace web is not one of those"},
		"nor with an account that is":              {limits: namespaces("shop", "team-*"), account: "team-1/deployer", refused: "namespace web is not one of those"},
		"a service in the cluster's own namespace": {limits: namespaces("shop", "*"), namespace: "kube-public", account: "web/deployer", refused: "the cluster's own"},
		"an account that is none":                  {limits: open, account: "a:b", refused: "is not valid"},
		"an account with more parts":               {limits: open, account: "a/b/c", refused: "is not valid"},
		"an account without a name":                {limits: open, account: "web/", refused: "is not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			request := tenancy.Request{Service: "s1", Namespace: "web", Account: test.account, Limits: test.limits}
			if test.namespace != "" {
				request.Namespace = test.namespace
			}
			permit, err := gate().Permit(request)
			says(t, "permit", err, test.refused)
			cfg, err := permit.REST()
			if test.refused != "" {
				if err == nil || permit.Service() != "" {
					t.Error("what is refused has the means nevertheless")
				}
				return
			}
			if err != nil || permit.User() != test.user || cfg.Impersonate.UserName != test.user || cfg.Host != "https://example.test" || permit.Service() != "s1" {
				t.Errorf("acts as %q, impersonates %q, %v", permit.User(), cfg.Impersonate.UserName, err)
			}
		})
	}
}

func TestWhatAServiceMayTouch(t *testing.T) {
	for name, test := range map[string]struct {
		limits      tenancy.Limits
		kind        kubeobj.Kind
		namespace   string
		write, read string
	}{
		"the admin project":                  {limits: tenancy.Limits{Project: "default"}, kind: configMaps, namespace: "kube-system"},
		"a project of administrators":        {limits: tenancy.Limits{Project: "axle-system", Administrators: true}, kind: clusterRoles},
		"its lists of everything":            {limits: tenancy.Limits{Project: "default"}, kind: configMaps},
		"its objects of the cluster":         {limits: tenancy.Limits{Project: "default"}, kind: clusterRoles},
		"another project":                    {limits: tenancy.Limits{Project: "shop"}, kind: configMaps, namespace: "other"},
		"its own namespace":                  {limits: tenancy.Limits{Project: "shop", Namespaces: []string{"team"}}, kind: configMaps, namespace: "web"},
		"an allowed one":                     {limits: tenancy.Limits{Project: "shop", Namespaces: []string{"team-?"}}, kind: configMaps, namespace: "team-1"},
		"one that is not":                    {limits: tenancy.Limits{Project: "shop", Namespaces: []string{"team-?"}}, kind: configMaps, namespace: "team-10", write: "(web, team-?, allowed by project shop)", read: "(web, team-?, allowed by project shop)"},
		"the cluster's own":                  {limits: tenancy.Limits{Project: "shop"}, kind: configMaps, namespace: "kube-system", write: "the cluster's own", read: "the cluster's own"},
		"the cluster's own by a pattern":     {limits: tenancy.Limits{Project: "shop", Namespaces: []string{"*"}}, kind: configMaps, namespace: "kube-system", write: "the cluster's own", read: "the cluster's own"},
		"the cluster's own by its name":      {limits: tenancy.Limits{Project: "shop", Namespaces: []string{"kube-system"}}, kind: configMaps, namespace: "kube-system"},
		"the agent's":                        {limits: tenancy.Limits{Project: "shop", Namespaces: []string{"axle-system"}}, kind: configMaps, namespace: "axle-system", write: "the cluster's own", read: "the cluster's own"},
		"all namespaces":                     {limits: tenancy.Limits{Project: "shop"}, kind: configMaps, read: "all namespaces"},
		"an allowed kind":                    {limits: tenancy.Limits{Project: "shop", Kinds: []string{"Deployment.apps"}}, kind: deployments, namespace: "web"},
		"an allowed kind without its group":  {limits: tenancy.Limits{Project: "shop", Kinds: []string{"Deploy*"}}, kind: deployments, namespace: "web"},
		"a kind of the core group":           {limits: tenancy.Limits{Project: "shop", Kinds: []string{"ConfigMap"}}, kind: configMaps, namespace: "web"},
		"another kind":                       {limits: tenancy.Limits{Project: "shop", Kinds: []string{"Deployment.batch"}}, kind: deployments, namespace: "web", write: "kind Deployment", read: "kind Deployment"},
		"the whole cluster":                  {limits: tenancy.Limits{Project: "shop"}, kind: clusterRoles, write: "belongs to the whole cluster"},
		"the whole cluster, allowed":         {limits: tenancy.Limits{Project: "shop", ClusterScoped: true}, kind: clusterRoles},
		"the whole cluster, allowed, a kind": {limits: tenancy.Limits{Project: "shop", ClusterScoped: true, Kinds: []string{"Job"}}, kind: clusterRoles, write: "kind ClusterRole", read: "kind ClusterRole"},
	} {
		t.Run(name, func(t *testing.T) {
			request := tenancy.Request{Service: "s1", Namespace: "web", Account: "deployer", Limits: test.limits}
			permit, err := gate().Permit(request)
			if err != nil {
				t.Fatal(err)
			}
			ref := kubeobj.Ref{Group: test.kind.Group, Kind: test.kind.Kind, Namespace: test.namespace, Name: "a"}
			if test.namespace != "" || !test.kind.Namespaced {
				says(t, "write", permit.MayWrite(test.kind, ref), test.write)
				request.Account = ""
				if might := gate().MightWrite(request, test.kind, ref); might != (test.write == "") {
					t.Errorf("by its limits alone it might: %v", might)
				}
			}
			says(t, "read", permit.MayRead(test.kind, test.namespace), test.read)
		})
	}
}

func TestNoPermitOpensNothing(t *testing.T) {
	leaving := gate().Leaving(tenancy.Request{Service: "s1"}, "system:serviceaccount:web:deployer", errcode.New(errcode.Forbidden, "not any more"))
	for name, permit := range map[string]tenancy.Permit{"none": {}, "leaving": leaving} {
		ref := kubeobj.Ref{Kind: "ConfigMap", Namespace: "web", Name: "a"}
		if permit.MayWrite(configMaps, ref) == nil || permit.MayRead(configMaps, "web") == nil {
			t.Errorf("%s: it may", name)
		}
	}
	if _, err := (tenancy.Permit{}).REST(); !errcode.Is(err, errcode.Forbidden) {
		t.Errorf("the zero permit: %v", err)
	}
	if cfg, err := leaving.REST(); err != nil || cfg.Impersonate.UserName != "system:serviceaccount:web:deployer" {
		t.Errorf("what leaves goes as who made it: %v", err)
	}
}

// The namespace of a cluster that is made is for the service that makes it, whatever the
// project of another one.
func TestANamespaceIsClosedToOthers(t *testing.T) {
	g := gate()
	g.Close(func(namespace string) string { return map[string]string{"made": "maker"}[namespace] })
	const closed = "closed to all services but the one that makes it"
	namespaces := kubeobj.Kind{Version: "v1", Kind: "Namespace", Resource: "namespaces"}
	for name, c := range map[string]struct {
		request tenancy.Request
		kind    kubeobj.Kind
		ref     kubeobj.Ref
		permit  string
		write   string
	}{
		"its own service":            {request: tenancy.Request{Service: "maker", Namespace: "made"}, kind: configMaps, ref: kubeobj.Ref{Namespace: "made", Name: "a"}},
		"its own namespace":          {request: tenancy.Request{Service: "maker", Namespace: "made"}, kind: namespaces, ref: kubeobj.Ref{Name: "made"}},
		"a service that lives there": {request: tenancy.Request{Service: "s", Namespace: "made"}, permit: closed},
		"with an account from there": {request: tenancy.Request{Service: "s", Namespace: "web", Account: "made/default"}, permit: closed},
		"an object there":            {request: tenancy.Request{Service: "s", Namespace: "web"}, kind: configMaps, ref: kubeobj.Ref{Namespace: "made", Name: "a"}, write: closed},
		"the namespace":              {request: tenancy.Request{Service: "s", Namespace: "web"}, kind: namespaces, ref: kubeobj.Ref{Name: "made"}, write: closed},
		"an object elsewhere":        {request: tenancy.Request{Service: "s", Namespace: "web"}, kind: configMaps, ref: kubeobj.Ref{Namespace: "web", Name: "made"}},
		"with an account, as guest":  {request: tenancy.Request{Service: "s", Namespace: "web", Account: "deployer", Limits: tenancy.Limits{Project: "shop", Namespaces: []string{"*"}}}, kind: configMaps, ref: kubeobj.Ref{Namespace: "made", Name: "a"}, write: closed},
	} {
		permit, err := g.Permit(c.request)
		if says(t, name, err, c.permit); c.permit != "" {
			continue
		}
		says(t, name+" is written", permit.MayWrite(c.kind, c.ref), c.write)
		if might := g.MightWrite(c.request, c.kind, c.ref); might != (c.write == "") {
			t.Errorf("%s: it might be written: %v", name, might)
		}
		if c.kind.Namespaced {
			says(t, name+" is read", permit.MayRead(c.kind, c.ref.Namespace), c.write)
		}
	}
}
