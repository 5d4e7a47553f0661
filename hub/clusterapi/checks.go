package clusterapi

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/clustercheck"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// maxChecks limits the checks of a template.
	maxChecks = 50
	// maxAfter limits those for after a create, as the row of each cluster has them.
	maxAfter = 16 << 10
)

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
	if text, err := a.after(); err != nil || len(text) > maxAfter {
		return cmp.Or(err, wrong(templateFile, "checks", "those for %s have %d KiB; at most %d are kept with a cluster", afterCreate, len(text)>>10, maxAfter>>10))
	}
	return nil
}

// after are the checks for after a create, as the row of a cluster has them: its template may
// have others by then.
func (a about) after() (string, error) {
	var kept []fleet.Check
	for _, c := range a.Checks {
		if c.When == afterCreate {
			kept = append(kept, fleet.Check{Name: c.Name, Expression: c.Expression, Message: c.Message})
		}
	}
	if len(kept) == 0 {
		return "", nil
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return "", errcode.New(errcode.Internal, "%w", err)
	}
	return string(text), nil
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
