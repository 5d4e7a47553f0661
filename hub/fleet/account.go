package fleet

import (
	"context"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/risk"
)

// accountOf is the account that a service acts as in a project with the limits,
// NAMESPACE/NAME; empty is none.
func accountOf(name string, spec Spec, l Limits) string {
	return risk.AccountOf(name, spec.Namespace, spec.ServiceAccount, l.ServiceAccount)
}

// allowsAccount reports whether services of the project may act as an account. A
// service chooses its namespace, so an account there is not its own for that: the
// limits, which administrators set, name the namespace or the account.
func (p Project) allowsAccount(account string) bool {
	return account == "" || p.Trusted() || risk.Given(account, p.Limits.Namespaces, p.Limits.Accounts)
}

// admitsAccount returns Forbidden when a service would begin to act as an account that
// nobody gave to the project. before is the service as it is, zero for a new one: the
// account that it acts as already needs no right.
func (p Project) admitsAccount(account string, before Service) error {
	if p.allowsAccount(account) || before.ID != "" && before.ProjectID == p.ID && accountOf(before.Name, before.Spec, p.Limits) == account {
		return nil
	}
	return errcode.New(errcode.Forbidden, "serviceAccount: project %s may not use the account %s, which was not given to it; an administrator does with: axle projects update %s --allow-account %s",
		p.Name, account, p.Name, account)
}

// admitsRevision returns Forbidden when an older revision of a service acts as an account
// that the service does not use now, and that nobody gave to the project.
func (f *Fleet) admitsRevision(ctx context.Context, s Service, older Spec) error {
	all, err := f.store.ProjectsByID(ctx, []string{s.ProjectID})
	if err != nil || len(all) == 0 {
		return err
	}
	return all[0].admitsAccount(accountOf(s.Name, older, all[0].Limits), s)
}

// AccountAtRisk is a service that acts as an account that nobody gave to its project.
type AccountAtRisk struct {
	Service Service
	Account string
}

// AccountsAtRisk returns up to limit services that act as an account that nobody gave
// to their project, as an earlier version permitted, and whether there are more. They go
// on until their limits name the account, or they change it.
func (f *Fleet) AccountsAtRisk(ctx context.Context, limit int) (all []AccountAtRisk, more bool, err error) {
	projects, err := f.store.Projects(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, p := range projects {
		var after Ref
		for !p.Trusted() && p.Services > 0 {
			page, err := f.store.ListServices(ctx, ServiceFilter{Project: p.Name}, after, maxPage)
			if err != nil {
				return nil, false, err
			}
			for _, s := range page {
				account := accountOf(s.Name, s.Spec, p.Limits)
				if p.allowsAccount(account) || s.Builtin() {
					continue
				}
				if len(all) == limit {
					return all, true, nil
				}
				all = append(all, AccountAtRisk{s, account})
			}
			if len(page) < maxPage {
				break
			}
			after = page[len(page)-1].Ref()
		}
	}
	return all, false, nil
}
