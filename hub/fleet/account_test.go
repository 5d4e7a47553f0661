package fleet_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

// acting is a service that acts as an account in a namespace.
func acting(name, namespace, account string) fleet.ServiceRequest {
	r := fleettest.Creation(name, name)
	r.Project, r.Spec.Namespace, r.Spec.ServiceAccount = "shop", namespace, account
	return r
}

// refusal checks an error: empty wants none.
func refusal(t *testing.T, what string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !errcode.Is(err, errcode.Forbidden)) {
		t.Errorf("%s: %v; want %q", what, err, want)
	}
}

// TestAnAccountNeedsConsent: a service chooses its namespace, and would so choose any
// account of the cluster.
func TestAnAccountNeedsConsent(t *testing.T) {
	const refused = "axle projects update shop --allow-account payments/deployer"
	for name, test := range map[string]struct {
		project            string
		limits             fleet.Limits
		namespace, account string
		want               string
	}{
		"no limits":                        {namespace: "payments", account: "deployer", want: refused},
		"written in full":                  {namespace: "web", account: "payments/deployer", want: refused},
		"the project's own account":        {limits: fleet.Limits{ServiceAccount: "deployer"}, namespace: "payments", want: refused},
		"other limits":                     {limits: fleet.Limits{Kinds: []string{"Secret"}, ClusterScoped: true}, namespace: "payments", account: "deployer", want: refused},
		"another account is given":         {limits: fleet.Limits{Accounts: []string{"web/deployer", "payments/reader"}}, namespace: "payments", account: "deployer", want: refused},
		"a pattern does not cross the /":   {limits: fleet.Limits{Accounts: []string{"p*/x"}}, namespace: "payments", account: "deployer", want: refused},
		"the account is given":             {limits: fleet.Limits{Accounts: []string{"payments/deployer"}}, namespace: "payments", account: "deployer"},
		"a pattern gives it":               {limits: fleet.Limits{Accounts: []string{"pay*/deploy??"}}, namespace: "payments", account: "deployer"},
		"the namespace is given":           {limits: fleet.Limits{Namespaces: []string{"pay*"}}, namespace: "payments", account: "deployer"},
		"given, and the project's account": {limits: fleet.Limits{ServiceAccount: "deployer", Accounts: []string{"*/deployer"}}, namespace: "payments"},
		"no account":                       {namespace: "payments"},
		"the project default":              {project: fleet.DefaultProject, namespace: "payments", account: "deployer"},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
				env := fleettest.New(t, d)
				if _, err := env.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "shop", Limits: test.limits}); err != nil {
					t.Fatal(err)
				}
				env.AddCluster("edge-1")
				r := acting("web", test.namespace, test.account)
				if test.project != "" {
					r.Project = test.project
				}
				_, err := env.CreateService(t.Context(), "ann", r)
				refusal(t, "create", err, test.want)
				r.Ref.Name = "applied"
				_, _, err = env.ApplyService(t.Context(), "ann", r)
				refusal(t, "apply", err, test.want)
			})
		})
	}
}

// TestAccountsInUseGoOn: what a hub permitted before needs no right, and is listed until
// its project is given the account; another account, namespace or project needs one.
func TestAccountsInUseGoOn(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env, ctx := fleettest.New(t, d), t.Context()
		for _, name := range []string{"shop", "other"} {
			if _, err := env.CreateProject(ctx, "ann", fleet.NewProject{Name: name}); err != nil {
				t.Fatal(err)
			}
		}
		env.AddCluster("edge-1")
		limit(env, "shop", fleet.Limits{Accounts: []string{"*/*"}})
		first := acting("web", "payments", "admin")
		env.Move(env.Must(env.CreateService(ctx, "ann", first)), 1)
		web := acting("web", "payments", "deployer")
		env.Must(env.UpdateService(ctx, "ann", web.Ref, web.Spec, nil, false))
		limit(env, "shop", fleet.Limits{}) // as a hub of before was, which asked nobody

		at, more, err := env.AccountsAtRisk(ctx, 10)
		if err != nil || more || len(at) != 1 || at[0].Account != "payments/deployer" || at[0].Service.Ref() != web.Ref {
			t.Errorf("at risk: %+v, %t, %v", at, more, err)
		}
		change := func(change func(s *fleet.Spec)) error {
			spec := web.Spec
			change(&spec)
			_, err := env.UpdateService(ctx, "ann", web.Ref, spec, nil, false)
			return err
		}
		refusal(t, "another setting", change(func(s *fleet.Spec) { s.Protect = true }), "")
		refusal(t, "another account", change(func(s *fleet.Spec) { s.ServiceAccount = "admin" }), "account payments/admin")
		refusal(t, "another namespace", change(func(s *fleet.Spec) { s.Namespace = "kube-admin" }), "account kube-admin/deployer")
		refusal(t, "the same in full", change(func(s *fleet.Spec) { s.Namespace, s.ServiceAccount = "web", "payments/deployer" }), "")
		_, err = env.RollbackService(ctx, "ann", web.Ref, 1)
		refusal(t, "a revision with another account", err, "account payments/admin")
		moved := web
		moved.Project = "other"
		_, _, err = env.ApplyService(ctx, "ann", moved)
		refusal(t, "another project", err, "project other may not use")
		_, err = env.CreateService(ctx, "ann", acting("second", "payments", "deployer"))
		refusal(t, "another service with the same account", err, "account payments/deployer")

		limit(env, "shop", fleet.Limits{Accounts: []string{"payments/deployer"}})
		if at, _, err := env.AccountsAtRisk(ctx, 10); err != nil || len(at) != 0 {
			t.Errorf("at risk although it is given: %+v, %v", at, err)
		}
	})
}
