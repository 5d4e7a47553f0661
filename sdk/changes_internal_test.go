package sdk

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

// TestAChangeIsMadeFromTheDeclaration: the request of a method that changes an object has
// all that the declaration has, sets what may be empty, and names nothing that cannot change.
func TestAChangeIsMadeFromTheDeclaration(t *testing.T) {
	by := &hubv1.Management{By: &hubv1.Manager{Tool: "apply", Id: "one"}}
	secret, empty := "s3cret", ""
	for name, c := range map[string]struct{ declared, want proto.Message }{
		"a context of all projects": {
			&hubv1.CreateContextRequest{Context: &hubv1.Context{Name: "base", Values: "{}"}, Management: by},
			&hubv1.UpdateContextRequest{Context: &hubv1.Context{Name: "base", Values: "{}"}, Global: true, Management: by},
		},
		"a context of a project": {
			&hubv1.CreateContextRequest{Context: &hubv1.Context{Name: "base", Project: "shop"}},
			&hubv1.UpdateContextRequest{Context: &hubv1.Context{Name: "base", Project: "shop"}},
		},
		"outputs of all projects": {
			&hubv1.PutOutputsRequest{Outputs: &hubv1.Context{Name: "net"}, Global: true},
			&hubv1.PutOutputsRequest{Outputs: &hubv1.Context{Name: "net"}, Global: true},
		},
		"a project without a description": {
			&hubv1.CreateProjectRequest{Name: "shop"}, &hubv1.UpdateProjectRequest{Name: "shop", Description: &empty},
		},
		"a provider with its secret": {
			&hubv1.CreateProviderRequest{Provider: &hubv1.Provider{Name: "okta", Issuer: "https://okta.example.com", ClientId: "axle"}, ClientSecret: secret},
			&hubv1.UpdateProviderRequest{Provider: &hubv1.Provider{Name: "okta", ClientId: "axle"}, ClientSecret: &secret, Set: []string{
				"title", "client_id", "scopes", "groups_claim", "groups", "email_domains", "allow_unverified", "ca_pem",
			}},
		},
		"a provider that keeps its secret": {
			&hubv1.CreateProviderRequest{Provider: &hubv1.Provider{Name: "okta"}},
			&hubv1.UpdateProviderRequest{Provider: &hubv1.Provider{Name: "okta"}, Set: []string{
				"title", "client_id", "scopes", "groups_claim", "groups", "email_domains", "allow_unverified", "ca_pem",
			}},
		},
		"a cluster": {
			&hubv1.CreateClusterRequest{Name: "edge-1", Project: "shop", Management: by},
			&hubv1.UpdateClusterRequest{Name: "edge-1", Handle: "edge-1", Metadata: "{}", SetTags: true, SetMetadata: true, Management: by},
		},
		"a cluster of a template": {
			&hubv1.CreateClusterRequest{Name: "edge-1", Handle: "edge", Tags: map[string]string{"tier": "edge"}, Metadata: `{"a": 1}`, FromTemplate: &hubv1.FromTemplate{Template: "eks", Variables: `{"b": 2}`, ManagementCluster: "mgmt"}},
			&hubv1.UpdateClusterRequest{Name: "edge-1", Handle: "edge", Tags: map[string]string{"tier": "edge"}, Metadata: `{"a": 1}`, Variables: `{"b": 2}`, SetTags: true, SetMetadata: true},
		},
		"a repository without options": {
			&hubv1.CreateRepositoryRequest{Name: "app", Type: "git", Url: "https://git.example.com/app"},
			&hubv1.UpdateRepositoryRequest{Name: "app", Url: "https://git.example.com/app", Options: &hubv1.RepositoryOptions{}},
		},
	} {
		before := proto.Clone(c.declared)
		got := Changing(c.declared, c.want.ProtoReflect().Descriptor())
		sorted := protocmp.SortRepeated(func(a, b string) bool { return a < b })
		if diff := cmp.Diff(c.want, got, protocmp.Transform(), sorted); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if !proto.Equal(before, c.declared) {
			t.Errorf("%s: the declaration was changed to %v", name, c.declared)
		}
	}
}
