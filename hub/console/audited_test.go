package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/hashchain"
)

// recordsOf returns what the audit log holds of an action, once there are n.
func (b *bed) recordsOf(t *testing.T, action string, n int) []audit.Record {
	t.Helper()
	var found []audit.Record
	eventually.For(t, limit, fmt.Sprintf("%d records of %s", n, action), func() error {
		rows, err := b.Parts().Store.AuditRows(t.Context(), audit.Query{Action: action, Limit: 1000})
		if err != nil || len(rows) < n {
			return fmt.Errorf("%d rows, %w", len(rows), err)
		}
		found = nil
		for _, row := range rows {
			r, err := row.Open()
			if err != nil {
				return err
			}
			found = append(found, r)
		}
		return nil
	})
	if len(found) != n {
		t.Fatalf("%d records of %s, want %d", len(found), action, n)
	}
	return found
}

func TestWritesAreRecorded(t *testing.T) {
	b := newBed(t)
	must(t, b.projects.Create, &hubv1.CreateProjectRequest{Name: "shop"})
	made := b.recordsOf(t, hubv1connect.ProjectsCreateProcedure, 1)[0]
	if made.Actor != hubtest.Admin || made.ActorKind != "user" || made.TokenID == "" || made.Source != "127.0.0.1" || made.Kind != "project" ||
		made.Name != "shop" || made.Result != "ok" || made.Before != "" || !strings.Contains(made.After, `"shop"`) {
		t.Errorf("%+v", made)
	}
	// The second of a name is refused, and recorded with its reason.
	if _, err := b.projects.Create(t.Context(), connect.NewRequest(&hubv1.CreateProjectRequest{Name: "shop"})); err == nil {
		t.Fatal("the second of a name was made")
	}
	twice := b.recordsOf(t, hubv1connect.ProjectsCreateProcedure, 2)[1]
	if twice.Result != "conflict" || twice.Detail["error"] == "" || !strings.Contains(twice.Detail["request"], "shop") || twice.Actor != hubtest.Admin {
		t.Errorf("%+v", twice)
	}
	// A change has what was there before.
	must(t, b.clusters.Create, &hubv1.CreateClusterRequest{Name: "edge-1", Tags: map[string]string{"tier": "dev"}})
	must(t, b.clusters.Update, &hubv1.UpdateClusterRequest{Name: "edge-1", Tags: map[string]string{"tier": "prod"}, SetTags: true})
	changed := b.recordsOf(t, hubv1connect.ClustersUpdateProcedure, 1)[0]
	if !strings.Contains(changed.Before, "dev") || strings.Contains(changed.Before, "prod") || !strings.Contains(changed.After, "prod") || changed.ClusterID == "" {
		t.Errorf("%+v", changed)
	}
	must(t, b.clusters.Delete, &hubv1.DeleteClusterRequest{Name: "edge-1"})
	if gone := b.recordsOf(t, hubv1connect.ClustersDeleteProcedure, 1)[0]; gone.ClusterID != changed.ClusterID || !strings.Contains(gone.Before, "prod") {
		t.Errorf("%+v", gone)
	}
	// Reads are not recorded, unless they are refused.
	must(t, b.projects.List, &hubv1.ListProjectsRequest{})
	b.recordsOf(t, hubv1connect.ProjectsListProcedure, 0)
	end, err := b.Parts().Store.AuditEnd(t.Context())
	if err != nil || end == (hashchain.End{}) {
		t.Errorf("end %v, %v", end, err)
	}
}

// A call without a right to it is recorded with who tried.
func TestRefusedWritesAreRecorded(t *testing.T) {
	b := newBed(t)
	reader := must(t, b.tokens.Create, &hubv1.CreateTokenRequest{Name: "reader", Scopes: []string{"read"}})
	for _, bearer := range []string{reader.GetSecret(), "axle_unknown", ""} {
		r := connect.NewRequest(&hubv1.CreateProjectRequest{Name: "shop", Description: "stranger"})
		r.Header().Set("Authorization", "Bearer "+bearer)
		if _, err := b.projects.Create(t.Context(), r); err == nil {
			t.Errorf("%q was let in", bearer)
		}
	}
	all := b.recordsOf(t, hubv1connect.ProjectsCreateProcedure, 3)
	if first := all[0]; first.Actor != hubtest.Admin || first.TokenID != reader.GetToken().GetId() || first.Result != "forbidden" {
		t.Errorf("%+v", first)
	}
	for _, r := range all[1:] {
		if r.Actor != "" || r.Result != "unauthorized" || r.Source == "" {
			t.Errorf("%+v", r)
		}
		// What strangers send is not kept.
		if strings.Contains(fmt.Sprint(r.Detail), "stranger") {
			t.Errorf("%+v", r)
		}
	}
}

// Secrets are planted wherever a person may put one; none is in the log.
func TestNoSecretEntersTheAuditLog(t *testing.T) {
	b := newBed(t)
	const planted = "hunter2-PLANTED"
	n := 0
	secret := func() string { n++; return fmt.Sprintf("%s-%d", planted, n) }
	try := func(call func() error) {
		t.Helper()
		if err := call(); err != nil {
			t.Logf("refused, and recorded: %v", err)
		}
	}
	b.fleet(t)
	for _, url := range []string{b.git.URL("fleet"), "https://ann:" + secret() + "@git.example.com/x.git"} {
		try(func() error {
			_, err := b.repositories.Create(t.Context(), connect.NewRequest(&hubv1.CreateRepositoryRequest{
				Name: "r-" + fmt.Sprint(n), Url: url, Type: "git",
				Credentials: &hubv1.RepositoryCredentials{
					Username: "ann", Password: secret(), PrivateKey: secret(), Passphrase: secret(), ClientKey: secret(), ProxyPassword: secret(),
					SecretAccessKey: secret(), SessionToken: secret(), ServiceAccountJson: secret(), ClientSecret: secret(),
				},
			}))
			return err
		})
	}
	shared := secret()
	spec := webSpec()
	spec.Secrets = map[string]string{"db": shared}
	spec.Helm = &hubv1.Helm{Values: "db:\n  auth:\n    password: " + secret() + "\n# " + shared + "\n"}
	for _, name := range []string{"web", "web", shared} { // made, refused, and a secret in a name
		try(func() error {
			_, err := b.services.Create(t.Context(), connect.NewRequest(&hubv1.CreateServiceRequest{Ref: &hubv1.ServiceRef{Cluster: "edge-1", Name: name}, Spec: spec}))
			return err
		})
	}
	contexts := hubv1connect.NewContextsClient(&http.Client{Timeout: limit}, b.URL, signedIn(b.AdminToken))
	outputs := hubv1connect.NewOutputsClient(&http.Client{Timeout: limit}, b.URL, signedIn(b.AdminToken))
	values := fmt.Sprintf(`{"db": {"password": %q, "env": [{"name": "API_TOKEN", "value": %q}]}}`, secret(), secret())
	for range 2 {
		try(func() error {
			_, err := contexts.Create(t.Context(), connect.NewRequest(&hubv1.CreateContextRequest{Context: &hubv1.Context{Name: "base", Values: values, Secrets: map[string]string{"k": secret()}}}))
			return err
		})
	}
	try(func() error {
		_, err := contexts.Update(t.Context(), connect.NewRequest(&hubv1.UpdateContextRequest{Context: &hubv1.Context{Name: "base", Secrets: map[string]string{"k2": secret()}}, Merge: true}))
		return err
	})
	try(func() error {
		_, err := outputs.Put(t.Context(), connect.NewRequest(&hubv1.PutOutputsRequest{Outputs: &hubv1.Context{Name: "net", Secrets: map[string]string{"k": secret()}}}))
		return err
	})
	hooks := hubv1connect.NewWebhooksClient(&http.Client{Timeout: limit}, b.URL, signedIn(b.AdminToken))
	try(func() error {
		_, err := hooks.Create(t.Context(), connect.NewRequest(&hubv1.CreateWebhookRequest{Name: "push", Provider: "generic", Secret: secret()}))
		return err
	})
	try(func() error {
		_, err := b.projects.Create(t.Context(), connect.NewRequest(&hubv1.CreateProjectRequest{Name: "p", Description: "password: " + secret()}))
		return err
	})
	token := must(t, b.tokens.Create, &hubv1.CreateTokenRequest{Name: "one"})
	b.recordsOf(t, hubv1connect.TokensCreateProcedure, 1)

	eventually.For(t, limit, "all records are written", func() error {
		end, err := b.Parts().Store.AuditEnd(t.Context())
		if err != nil || end.Sequence < 14 {
			return fmt.Errorf("%d rows, %w", end.Sequence, err)
		}
		return nil
	})
	rows, err := b.Parts().Store.AuditRows(t.Context(), audit.Query{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		for _, bad := range []string{planted, token.GetSecret(), b.AdminToken} {
			if strings.Contains(string(row.Record), bad) || strings.Contains(fmt.Sprint(row.Columns), bad) {
				t.Errorf("a secret stands in record %d: %s", row.Sequence, row.Record)
			}
		}
		if !json.Valid(row.Record) {
			t.Errorf("record %d is no JSON", row.Sequence)
		}
	}
}
