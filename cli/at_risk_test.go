package cli_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
)

// answer serves one answer to all requests of a call.
func answer[Request, Response any](mux *http.ServeMux, procedure string, response *Response) {
	mux.Handle(procedure, connect.NewUnaryHandler(procedure, func(context.Context, *connect.Request[Request]) (*connect.Response[Response], error) {
		return connect.NewResponse(response), nil
	}))
}

// riskyHub answers what the commands about risks ask; older has no list of them.
func riskyHub(older bool) *http.ServeMux {
	mux := http.NewServeMux()
	answer[hubv1.HubStatusRequest](mux, hubv1connect.HubStatusProcedure, &hubv1.HubStatus{Version: "0.1.7"})
	if !older {
		answer[hubv1.AtRiskRequest](mux, hubv1connect.HubAtRiskProcedure, &hubv1.AtRiskResponse{Total: 3, Risks: []*hubv1.Risk{
			{Kind: "group", Object: "group kubeadm:x", Why: "a colon", Command: "axle groups delete kubeadm:x"},
		}})
		return mux
	}
	const at = "https://git.example.com/"
	service := func(name, by, follows, field string, revision int64, spec *hubv1.ServiceSpec) *hubv1.Service {
		s := &hubv1.Service{Id: name, Cluster: "edge", Name: name, Project: "shop", Revision: revision, Spec: spec, Sources: []*hubv1.ServiceSource{{Field: field, Repository: follows}}}
		if by != "" {
			s.ManagedBy = &hubv1.Manager{Tool: "hub", Id: by}
		}
		return s
	}
	of := func(name string) *hubv1.ServiceSpec { return &hubv1.ServiceSpec{Git: &hubv1.Git{Url: at + name}} }
	answer[hubv1.ListBindingsRequest](mux, hubv1connect.BindingsListProcedure, &hubv1.ListBindingsResponse{})
	answer[hubv1.ListGroupsRequest](mux, hubv1connect.GroupsListProcedure, &hubv1.ListGroupsResponse{Groups: []*hubv1.Group{{Name: "kubeadm:x"}, {Name: "sre"}}})
	answer[hubv1.ListProjectsRequest](mux, hubv1connect.ProjectsListProcedure, &hubv1.ListProjectsResponse{Projects: []*hubv1.Project{
		{Name: "shop", Limits: &hubv1.ProjectLimits{Namespaces: []string{"shop-*"}, ServiceAccount: "shop-ci/deployer"}},
	}})
	answer[hubv1.ListClustersRequest](mux, hubv1connect.ClustersListProcedure, &hubv1.ListClustersResponse{Clusters: []*hubv1.Cluster{{Name: "mgmt", Handle: "mgmt", Project: "default"}, {Name: "edge", Handle: "mgmt", Project: "shop"}}})
	answer[hubv1.ListRepositoriesRequest](mux, hubv1connect.RepositoriesListProcedure, &hubv1.ListRepositoriesResponse{Repositories: []*hubv1.Repository{
		{Name: "lab", Project: "lab", Url: at + "lab.git"}, {Name: "own", Project: "shop", Url: at + "Own/"}, {Name: "common", Url: at + "common"},
	}})
	answer[hubv1.ListServicesRequest](mux, hubv1connect.ServicesListProcedure, &hubv1.ListServicesResponse{Services: []*hubv1.Service{
		service("own", "", "own", "git", 1, of("own")),
		service("by-git", "", "lab", "git", 1, of("lab")),
		service("by-git-of-helm", "", "common", "helm", 1, &hubv1.ServiceSpec{Helm: &hubv1.Helm{Git: &hubv1.Git{Url: at + "common"}}}),
		service("by-source", "", "lab", "sources[0]", 1, &hubv1.ServiceSpec{Sources: []*hubv1.Source{{Path: "a", Git: &hubv1.Git{Url: at + "lab"}}}}),
		service("by-chart", "", "https://charts.example.com/moved", "helm", 1, &hubv1.ServiceSpec{Helm: &hubv1.Helm{Url: "https://charts.example.com", Chart: "web"}}),
		service("of-nobody", "", "https://charts.example.com/", "helm", 1, &hubv1.ServiceSpec{Helm: &hubv1.Helm{Url: "https://charts.example.com", Chart: "web"}}),
		service("by-name", "", "lab", "git", 1, &hubv1.ServiceSpec{Repository: "lab", Git: &hubv1.Git{}}),
		service("of-template", "all", "lab", "git", 1, of("lab")),
		service("of-first", "some", "own", "git", 1, of("own")), service("of-stray", "some", "lab", "git", 2, of("own")), service("of-empty", "some", "lab", "git", 0, of("own")),
	}})
	answer[hubv1.ListGlobalServicesRequest](mux, hubv1connect.GlobalServicesListProcedure, &hubv1.ListGlobalServicesResponse{GlobalServices: []*hubv1.GlobalService{
		{Id: "all", Name: "all", Settings: &hubv1.GlobalServiceSettings{Project: "shop"}}, {Id: "some", Name: "some", Settings: &hubv1.GlobalServiceSettings{Project: "shop"}},
	}})
	return mux
}

// A hub that has no list of what is at risk has one nevertheless.
func TestRisksOfAHubWithoutAList(t *testing.T) {
	code, out, errs := serve(t, riskyHub(true), "never", "upgrade", "--check", "-o", "json")
	var risks []struct{ Kind, Object, Why, Command string }
	if err := json.Unmarshal([]byte(out), &risks); err != nil || code != 0 {
		t.Fatalf("exit %d: %v\n%s%s", code, err, out, errs)
	}
	var lines []string
	for _, r := range risks {
		_, field, _ := strings.Cut(r.Why, "its field ")
		field, _, _ = strings.Cut(field, " ")
		lines = append(lines, strings.TrimSpace(r.Kind+" "+r.Object+" "+field))
	}
	want := []string{"group group kubeadm:x", "handle cluster edge"}
	for _, name := range []string{"global service all git.url", "service edge/by-chart helm.url", "service edge/by-git git.url", "service edge/by-git-of-helm helm.git.url", "service edge/by-source sources[0].git.url", "service edge/of-empty git.url", "service edge/of-stray git.url"} {
		want = append(want, "source "+name)
	}
	if !slices.Equal(lines, want) {
		t.Errorf("at risk are\n%q, want\n%q", lines, want)
	}
	if !strings.Contains(errs, "SOPS backend") {
		t.Errorf("nothing about what is not known: %s", errs)
	}
}

// An older hub may lack any of the calls that the list is computed of, or break off in
// the middle: the rest is listed, and what is missing is named.
func TestRisksOfAHubThatLacksACall(t *testing.T) {
	const group, handle, chart, template = "kubeadm:x", "cluster edge", "edge/by-chart", "global service all"
	for procedure, without := range map[string]string{
		hubv1connect.HubStatusProcedure:          "",
		hubv1connect.BindingsListProcedure:       "",
		hubv1connect.ClustersListProcedure:       handle,
		hubv1connect.GroupsListProcedure:         group,
		hubv1connect.ProjectsListProcedure:       "",
		hubv1connect.RepositoriesListProcedure:   chart + " " + template,
		hubv1connect.ServicesListProcedure:       chart + " " + template,
		hubv1connect.GlobalServicesListProcedure: template,
	} {
		call := strings.TrimPrefix(procedure, "/axle.hub.v1.")
		for answer, status := range map[string]int{"is too old for": http.StatusNotFound, "breaks at": http.StatusForbidden} {
			t.Run(answer+" "+call, func(t *testing.T) {
				hub := http.NewServeMux()
				hub.Handle("/", riskyHub(true))
				hub.HandleFunc(procedure, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", status) })
				code, out, errs := serve(t, hub, "never", "upgrade", "--check")
				if status == http.StatusForbidden && procedure != hubv1connect.HubStatusProcedure {
					// No part of the list is the administrators' alone, once the first call was answered.
					if code == 0 || procedure != hubv1connect.BindingsListProcedure && procedure != hubv1connect.ClustersListProcedure && (!strings.Contains(out, handle) || !strings.Contains(errs, "not whole")) || !strings.Contains(errs, call) {
						t.Errorf("exit %d\n%s%s", code, out, errs)
					}
					return
				}
				for _, line := range []string{group, handle, chart, template} {
					if strings.Contains(out, line) == strings.Contains(without, line) {
						t.Errorf("%s is listed: %v", line, strings.Contains(out, line))
					}
				}
				names := "call " + call
				if procedure == hubv1connect.HubStatusProcedure {
					names = "does not report its version"
				}
				if code != 0 || !strings.Contains(errs, names) || !strings.Contains(errs, "SOPS backend") {
					t.Errorf("exit %d\n%s%s", code, out, errs)
				}
			})
		}
	}
}

func TestRisksAreListedBeforeAnUpgrade(t *testing.T) {
	for name, test := range map[string]struct {
		older     bool
		args      string
		code      int
		out, errs string
	}{
		"the list":                   {false, "hub at-risk", 0, "axle groups delete kubeadm:x", "2 more"},
		"before an upgrade":          {false, "upgrade --check", 0, "axle groups delete kubeadm:x", "2 more"},
		"for programs":               {false, "upgrade --check -o json", 0, `"command": "axle groups delete kubeadm:x"`, "2 more"},
		"the count":                  {false, "hub status", 0, "axle hub at-risk", ""},
		"the status of an older hub": {true, "hub status", 0, "0.1.7", ""},
		"an older hub":               {true, "upgrade --check", 0, "axle groups delete kubeadm:x", "The hub is 0.1.7, which has no such list"},
		"the list of an older hub":   {true, "hub at-risk", 0, "axle groups delete kubeadm:x", "The hub is 0.1.7, which has no such list"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := serve(t, riskyHub(test.older), "never", strings.Fields(test.args)...)
			if (code == 0) != (test.code == 0) || !strings.Contains(out, test.out) || !strings.Contains(errs, test.errs) {
				t.Errorf("exit %d\n%s%s", code, out, errs)
			}
		})
	}
}
