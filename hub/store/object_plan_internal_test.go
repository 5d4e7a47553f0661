package store

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/store/applications"
	"github.com/axle-cd/axle/hub/store/objects"
	"github.com/axle-cd/axle/hub/store/signins"
)

// No statement about objects reads more of them than it returns.
func TestObjectsAreFoundByAnIndex(t *testing.T) {
	openBoth(t, func(t *testing.T, open func(t *testing.T) *Store) {
		s := open(t)
		page, ofPage := objects.Within(identity.All, "k", "n", 20)
		some, ofSome := objects.Within(identity.Reach{Projects: []string{"prj_a", "prj_b"}}, "k", "n", 20)
		for what, q := range map[string]struct {
			query string
			args  []any
			index string
		}{
			"one of a name":          {objects.Named, []any{"k", "n"}, "objects_named"},
			"a page":                 {page, ofPage, "objects_named"},
			"a page of projects":     {some, ofSome, "objects_"},
			"those of a project":     {objects.Members, []any{"k", "p"}, "objects_of_project"},
			"those of a kind":        {objects.Count, []any{"k"}, "objects_named"},
			"one of an id":           {objects.OfID, []any{"o"}, "objects"},
			"a client of an id":      {applications.OfID, []any{"c"}, "application_clients_named"},
			"that of an application": {applications.OfApplication, []any{"o"}, "application_clients"},
			"secrets of a client":    {applications.SecretsOf, []any{"o"}, "application_secrets_of"},
			"what is undelivered":    {applications.Undelivered, []any{"", 20}, "application_clients_undelivered"},
			"former secrets":         {applications.Former, []any{"", 20}, "application_secrets_former"},
			"who logged in last":     {signins.ConsentsFor, []any{"c", 200}, "oidc_consents_by_client"},
			"what a person gave":     {signins.ConsentsOf, []any{"u", 200}, "oidc_consents"},
			"references of one":      {objects.OfObject, []any{"o"}, "object_references"},
			"what refers to one":     {objects.Users, []any{"t", 5}, "object_references_target"},
			"those of a kind there":  {objects.Naming, []any{"k", "t", 5}, "object_references_target"},
			"a secret of one":        {objects.SecretOf, []any{"o"}, "object_secrets"},
			"how many refer to it":   {objects.UsersAre, []any{"t"}, "object_references_target"},
		} {
			if plan := planOf(t, s, q.query, q.args); !strings.Contains(plan, q.index) || strings.Contains(plan, "SCAN objects") || strings.Contains(plan, "Seq Scan") {
				t.Errorf("%s:\n%s", what, plan)
			}
		}
	})
}
