package console_test

import (
	"errors"
	"net/http"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/internal/errcode"
)

var (
	terraform = &hubv1.Manager{Tool: "terraform", Id: "default"}
	people    = &hubv1.Manager{Tool: "cli"}
)

func by(m *hubv1.Manager) *hubv1.Management { return &hubv1.Management{By: m} }

func takingOver(m *hubv1.Manager) *hubv1.Management { return &hubv1.Management{By: m, TakeOver: true} }

// managerIn is the present manager in the error of a refused write.
func managerIn(err error) *hubv1.Manager {
	var failed *connect.Error
	if !errors.As(err, &failed) {
		return nil
	}
	for _, d := range failed.Details() {
		if v, err := d.Value(); err == nil {
			if detail, ok := v.(*hubv1.Management); ok {
				return detail.GetBy()
			}
		}
	}
	return nil
}

// An older CLI does not send the field. What it writes is people's, and what a tool
// manages it does not overwrite.
func TestRequestsWithoutManagementAreFromPeople(t *testing.T) {
	b := newBed(t)
	b.fleet(t)
	have := must(t, b.services.Create, &hubv1.CreateServiceRequest{Ref: onEdge("mine"), Spec: webSpec()})
	if !proto.Equal(have.GetManagedBy(), people) {
		t.Errorf("managed by %v", have.GetManagedBy())
	}
	must(t, b.services.Delete, &hubv1.DeleteServiceRequest{Ref: onEdge("mine"), Management: by(&hubv1.Manager{Tool: "console"})})

	web := must(t, b.services.Create, &hubv1.CreateServiceRequest{Ref: onEdge("web"), Spec: webSpec(), Management: by(terraform)})
	if !proto.Equal(web.GetManagedBy(), terraform) {
		t.Errorf("managed by %v", web.GetManagedBy())
	}
	const says = "service edge-1/web is managed by Terraform (manager default): change it there, or take it over with --take-over"
	other := webSpec()
	other.Configuration = map[string]string{"colour": "red"}
	refused(t, b.services.Update, &hubv1.UpdateServiceRequest{Ref: onEdge("web"), Spec: other}, errcode.Conflict, says)
	refused(t, b.services.Apply, &hubv1.ApplyServiceRequest{Ref: onEdge("web"), Spec: other}, errcode.Conflict, says)
	refused(t, b.services.Apply, &hubv1.ApplyServiceRequest{Ref: onEdge("web"), Spec: other, DryRun: true}, errcode.Conflict, says)
	_, err := b.services.Delete(t.Context(), connect.NewRequest(&hubv1.DeleteServiceRequest{Ref: onEdge("web")}))
	if got := managerIn(err); !proto.Equal(got, terraform) {
		t.Errorf("%v has the manager %v", err, got)
	}
	// In an incident anybody with the right acts.
	must(t, b.services.Pause, &hubv1.PauseServiceRequest{Ref: onEdge("web")})
	must(t, b.services.Resume, &hubv1.ResumeServiceRequest{Ref: onEdge("web")})

	taken := must(t, b.services.Update, &hubv1.UpdateServiceRequest{Ref: onEdge("web"), Management: takingOver(nil)})
	if !proto.Equal(taken.GetManagedBy(), people) || !proto.Equal(taken.GetSpec(), web.GetSpec()) {
		t.Errorf("managed by %v, spec %v", taken.GetManagedBy(), taken.GetSpec())
	}
}

func TestRepositoriesHaveManagers(t *testing.T) {
	b := newBed(t)
	must(t, b.repositories.Create, &hubv1.CreateRepositoryRequest{Name: "people", Url: b.git.URL("fleet")})
	must(t, b.repositories.Create, &hubv1.CreateRepositoryRequest{
		Name: "terraform", Url: b.git.URL("fleet"), Auth: "basic", Credentials: &hubv1.RepositoryCredentials{Username: "u", Password: "hunter2"}, Management: by(terraform),
	})
	for tool, want := range map[string]int{"": 2, "terraform": 1, "cli": 1, "none": 0} {
		if all := must(t, b.repositories.List, &hubv1.ListRepositoriesRequest{ManagedByTool: tool}).GetRepositories(); len(all) != want {
			t.Errorf("%q: %v", tool, all)
		}
	}
	const says = `repository "terraform" is managed by Terraform (manager default)`
	refused(t, b.repositories.Update, &hubv1.UpdateRepositoryRequest{Name: "terraform", Url: b.git.URL("other"), Auth: "none"}, errcode.Conflict, says)
	refused(t, b.repositories.Delete, &hubv1.DeleteRepositoryRequest{Name: "terraform"}, errcode.Conflict, says)
	must(t, b.repositories.Refresh, &hubv1.RefreshRepositoryRequest{Name: "terraform"})
	taken := must(t, b.repositories.Update, &hubv1.UpdateRepositoryRequest{Name: "terraform", Management: takingOver(people)})
	if !proto.Equal(taken.GetManagedBy(), people) || taken.GetAuth() != "basic" {
		t.Errorf("managed by %v with the login %s", taken.GetManagedBy(), taken.GetAuth())
	}
	must(t, b.repositories.Delete, &hubv1.DeleteRepositoryRequest{Name: "terraform"})
	refused(t, b.repositories.List, &hubv1.ListRepositoriesRequest{ManagedByTool: "helm"}, errcode.Invalid, "managedByTool")
}

func TestProjectsHaveManagers(t *testing.T) {
	b := newBed(t)
	projects := hubv1connect.NewProjectsClient(http.DefaultClient, b.URL, signedIn(b.AdminToken))
	must(t, projects.Create, &hubv1.CreateProjectRequest{Name: "ours"})
	must(t, projects.Create, &hubv1.CreateProjectRequest{Name: "web", Description: "declared", Management: by(terraform)})
	for tool, want := range map[string]int{"": 3, "terraform": 1, "cli": 1, "none": 1} {
		if all := must(t, projects.List, &hubv1.ListProjectsRequest{ManagedByTool: tool}).GetProjects(); len(all) != want {
			t.Errorf("%q: %v", tool, all)
		}
	}
	const says = "project web is managed by Terraform (manager default)"
	refused(t, projects.Update, &hubv1.UpdateProjectRequest{Name: "web", Description: new("other")}, errcode.Conflict, says)
	refused(t, projects.Delete, &hubv1.DeleteProjectRequest{Name: "web"}, errcode.Conflict, says)
	must(t, projects.Update, &hubv1.UpdateProjectRequest{Name: "web", Description: new("declared")})
	taken := must(t, projects.Update, &hubv1.UpdateProjectRequest{Name: "web", Management: takingOver(people)})
	if !proto.Equal(taken.GetManagedBy(), people) || taken.GetDescription() != "declared" {
		t.Errorf("taken over: %v", taken)
	}
	must(t, projects.Delete, &hubv1.DeleteProjectRequest{Name: "web"})
	refused(t, projects.List, &hubv1.ListProjectsRequest{ManagedByTool: "helm"}, errcode.Invalid, "managedByTool")
}

// A cluster's manager declares its handle, tags and metadata. What its agent reports
// reaches it whoever that is, and it may be approved.
func TestClustersHaveManagers(t *testing.T) {
	b := newBed(t)
	clusters := hubv1connect.NewClustersClient(http.DefaultClient, b.URL, signedIn(b.AdminToken))
	must(t, clusters.Create, &hubv1.CreateClusterRequest{Name: "ours"})
	must(t, clusters.Create, &hubv1.CreateClusterRequest{Name: "edge", Tags: map[string]string{"tier": "edge"}, Management: by(terraform)})
	for tool, want := range map[string]int{"": 2, "terraform": 1, "cli": 1, "none": 0} {
		if all := must(t, clusters.List, &hubv1.ListClustersRequest{ManagedByTool: tool}).GetClusters(); len(all) != want {
			t.Errorf("%q: %v", tool, all)
		}
	}
	const says = "cluster edge is managed by Terraform (manager default)"
	refused(t, clusters.Update, &hubv1.UpdateClusterRequest{Name: "edge", SetTags: true}, errcode.Conflict, says)
	refused(t, clusters.Delete, &hubv1.DeleteClusterRequest{Name: "edge"}, errcode.Conflict, says)
	must(t, clusters.Create, &hubv1.CreateClusterRequest{Name: "edge", RenewToken: true})
	must(t, clusters.Approve, &hubv1.ApproveClusterRequest{Name: "edge"})
	must(t, clusters.Update, &hubv1.UpdateClusterRequest{Name: "edge", SetTags: true, Tags: map[string]string{"tier": "edge"}})
	taken := must(t, clusters.Update, &hubv1.UpdateClusterRequest{Name: "edge", Management: takingOver(people)})
	if !proto.Equal(taken.GetManagedBy(), people) || taken.GetTags()["tier"] != "edge" {
		t.Errorf("taken over: %v", taken)
	}
	must(t, clusters.Delete, &hubv1.DeleteClusterRequest{Name: "edge"})
	refused(t, clusters.List, &hubv1.ListClustersRequest{ManagedByTool: "helm"}, errcode.Invalid, "managedByTool")
}

func TestContextsAndOutputsHaveManagers(t *testing.T) {
	b := newBed(t)
	contexts := hubv1connect.NewContextsClient(http.DefaultClient, b.URL, signedIn(b.AdminToken))
	values := func(text string) *hubv1.Context {
		return &hubv1.Context{Name: "facts", Values: `{"text":"` + text + `"}`, Secrets: map[string]string{"password": "hunter2"}}
	}
	must(t, contexts.Create, &hubv1.CreateContextRequest{Context: values("one"), Management: by(terraform)})
	for tool, want := range map[string]int{"": 1, "terraform": 1, "cli": 0, "none": 0} {
		if all := must(t, contexts.List, &hubv1.ListContextsRequest{ManagedByTool: tool}).GetContexts(); len(all) != want {
			t.Errorf("%q: %v", tool, all)
		}
	}
	const says = "context facts is managed by Terraform (manager default)"
	refused(t, contexts.Update, &hubv1.UpdateContextRequest{Context: values("two")}, errcode.Conflict, says)
	refused(t, contexts.Update, &hubv1.UpdateContextRequest{Context: values("two"), Merge: true}, errcode.Conflict, says)
	refused(t, contexts.Delete, &hubv1.DeleteContextRequest{Name: "facts"}, errcode.Conflict, says)
	if same := must(t, contexts.Update, &hubv1.UpdateContextRequest{Context: values("one")}); !proto.Equal(same.GetManagedBy(), terraform) || same.GetVersion() != 1 {
		t.Errorf("nothing changed: %v", same)
	}
	taken := must(t, contexts.Update, &hubv1.UpdateContextRequest{Context: values("one"), Management: takingOver(people)})
	if !proto.Equal(taken.GetManagedBy(), people) || taken.GetValues() != `{"text":"one"}` || len(taken.GetSecrets()) != 1 {
		t.Errorf("taken over: %v", taken)
	}
	must(t, contexts.Delete, &hubv1.DeleteContextRequest{Name: "facts"})

	outputs := hubv1connect.NewOutputsClient(http.DefaultClient, b.URL, signedIn(b.AdminToken))
	must(t, outputs.Put, &hubv1.PutOutputsRequest{Outputs: values("one"), Management: by(terraform)})
	refused(t, outputs.Put, &hubv1.PutOutputsRequest{Outputs: values("two")}, errcode.Conflict, "outputs facts is managed by Terraform")
	refused(t, outputs.Delete, &hubv1.DeleteOutputsRequest{Name: "facts"}, errcode.Conflict, "outputs facts is managed by Terraform")
	if all := must(t, outputs.List, &hubv1.ListOutputsRequest{ManagedByTool: "terraform"}).GetOutputs(); len(all) != 1 {
		t.Errorf("%v", all)
	}
}

func TestCallersThatCannotManage(t *testing.T) {
	b := newBed(t)
	b.fleet(t)
	for text, m := range map[string]*hubv1.Manager{
		"management.by.tool: hub is for":       {Tool: "hub", Id: "global-web"},
		"management.by.tool: \"helm\" is not":  {Tool: "helm", Id: "web"},
		"management.by.tool: \"\" is not":      {Id: "web"},
		"management.by.id: is missing":         {Tool: "operator"},
		"management.by.id: is not for the too": {Tool: "console", Id: "ann"},
	} {
		refused(t, b.services.Create, &hubv1.CreateServiceRequest{Ref: onEdge("web"), Spec: webSpec(), Management: by(m)}, errcode.Invalid, text)
	}
	refused(t, b.services.Get, &hubv1.GetServiceRequest{Ref: onEdge("web")}, errcode.NotFound, "edge-1/web")
	// Taking over gives no right: access is checked first.
	must(t, b.services.Create, &hubv1.CreateServiceRequest{Ref: onEdge("web"), Spec: webSpec(), Management: by(terraform)})
	reader := hubv1connect.NewServicesClient(http.DefaultClient, b.URL, signedIn(b.token(t, "read").GetSecret()))
	refused(t, reader.Update, &hubv1.UpdateServiceRequest{Ref: onEdge("web"), Management: takingOver(people)}, errcode.Forbidden, "")
	refused(t, reader.Update, &hubv1.UpdateServiceRequest{Ref: onEdge("web"), Management: by(&hubv1.Manager{Tool: "hub", Id: "a"})}, errcode.Forbidden, "")
}

func TestManagersAreInTheAuditLog(t *testing.T) {
	b := newBed(t)
	b.fleet(t)
	must(t, b.services.Create, &hubv1.CreateServiceRequest{Ref: onEdge("web"), Spec: webSpec(), Management: by(terraform)})
	if made := b.recordsOf(t, hubv1connect.ServicesCreateProcedure, 1)[0].Detail; made["manager"] != "terraform default" || made["taken_over_from"] != "" {
		t.Errorf("created: %v", made)
	}
	refused(t, b.services.Delete, &hubv1.DeleteServiceRequest{Ref: onEdge("web")}, errcode.Conflict, "is managed by")
	if kept := b.recordsOf(t, hubv1connect.ServicesDeleteProcedure, 1)[0].Detail; kept["manager"] != "cli" || kept["taken_over_from"] != "" || kept["error"] == "" {
		t.Errorf("refused: %v", kept)
	}
	must(t, b.services.Update, &hubv1.UpdateServiceRequest{Ref: onEdge("web"), Management: takingOver(people)})
	if taken := b.recordsOf(t, hubv1connect.ServicesUpdateProcedure, 1)[0].Detail; taken["manager"] != "cli" || taken["taken_over_from"] != "terraform default" {
		t.Errorf("taken over: %v", taken)
	}
	must(t, b.repositories.Update, &hubv1.UpdateRepositoryRequest{Name: "fleet", Management: takingOver(terraform)})
	if taken := b.recordsOf(t, hubv1connect.RepositoriesUpdateProcedure, 1)[0].Detail; taken["manager"] != "terraform default" || taken["taken_over_from"] != "cli" {
		t.Errorf("taken over: %v", taken)
	}
}
