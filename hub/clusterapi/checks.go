package clusterapi

import (
	"context"

	"github.com/axle-cd/axle/internal/clustercheck"
	"github.com/axle-cd/axle/internal/errcode"
)

// maxChecks limits the checks of a template.
const maxChecks = 50

// The moments of a check.
const (
	beforeCreate = "before"
	afterCreate  = "after"
)

// check is what must hold before a cluster is made, or once it is up.
type check struct {
	Name       string `json:"name"`
	When       string `json:"when"`
	Expression string `json:"expression"`
	Message    string `json:"message"`

	compiled clustercheck.Check
}

// compile compiles the checks of a template.
func (a about) compile() error {
	if len(a.Checks) > maxChecks {
		return wrong(templateFile, "checks", "has %d checks; at most %d are read", len(a.Checks), maxChecks)
	}
	for _, c := range a.Checks {
		switch {
		case c == nil || c.Name == "" || c.Message == "":
			return wrong(templateFile, "checks", "each check has a name and a message for people")
		case c.When != beforeCreate && c.When != afterCreate:
			return wrong(templateFile, "checks", "%s is for the moment %.40q; use %s or %s", c.Name, c.When, beforeCreate, afterCreate)
		}
		var err error
		if c.compiled, err = clustercheck.Compile(c.Expression); err != nil {
			return wrong(templateFile, "checks", "%s: %v", c.Name, err)
		}
	}
	return nil
}

// before returns Invalid with the message of the first check that does not hold for the
// variables of a new cluster.
func (a about) before(ctx context.Context, values map[string]any) error {
	for _, c := range a.Checks {
		if c.When != beforeCreate {
			continue
		}
		holds, err := c.compiled.Holds(ctx, values, nil)
		if err != nil {
			return wrong(templateFile, "checks", "%s cannot be evaluated for these variables: %v", c.Name, err)
		}
		if !holds {
			return errcode.New(errcode.Invalid, "variables: %s (check %s of the template)", c.Message, c.Name)
		}
	}
	return nil
}
