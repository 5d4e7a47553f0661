package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

func TestJSONOverPost(t *testing.T) {
	b := newBed(t)
	status, header, text := post(t, b.URL, "/axle.hub.v1.Projects/Create", `{"name": "shop"}`, "Authorization", "Bearer "+b.AdminToken)
	if status != http.StatusOK || header.Get("Axle-Position") == "" {
		t.Fatalf("%d, position %q: %s", status, header.Get("Axle-Position"), text)
	}
	var project struct{ ID, Name string }
	if err := json.Unmarshal([]byte(text), &project); err != nil || project.Name != "shop" || project.ID == "" {
		t.Errorf("%s: %v", text, err)
	}
	status, _, text = post(t, b.URL, "/axle.hub.v1.Projects/Create", `{"name": "shop"}`, "Authorization", "Bearer "+b.AdminToken)
	if status != http.StatusConflict || !strings.Contains(text, "shop") {
		t.Errorf("the second of one name: %d: %s", status, text)
	}
	if status, _, text := post(t, b.URL, "/axle.hub.v1.Projects/Create", `{"name":`, "Authorization", "Bearer "+b.AdminToken); status != http.StatusBadRequest {
		t.Errorf("half a message: %d: %s", status, text)
	}
	if status, _, text := post(t, b.URL, "/axle.hub.v1.Projects/List", "{}", "Authorization", "Bearer "+b.AdminToken, "Axle-Seen", "nonsense"); status != http.StatusBadRequest {
		t.Errorf("a position that is none: %d: %s", status, text)
	}
}

func TestWhatWasWrittenIsReadOnEveryReplica(t *testing.T) {
	config := hubtest.HubConfig{AllowHTTPUpstreams: true, DatabaseURL: hubtest.Postgres(t), KeyFile: filepath.Join(t.TempDir(), "hub.key")}
	one := hubtest.New(t, hubtest.Config{Hub: config})
	two := hubtest.New(t, hubtest.Config{Hub: config, AdminToken: one.AdminToken})
	hubs := []*hubtest.Hub{one, two}
	// A replica that has not caught up within 2 s tells the caller to retry.
	patient := func(h *hubtest.Hub, procedure, body, bearer, seen string) (status int, header http.Header, text string) {
		t.Helper()
		eventually.For(t, limit, "an answer to "+procedure, func() error {
			status, header, text = post(t, h.URL, procedure, body, "Authorization", "Bearer "+bearer, "Axle-Seen", seen)
			if status == http.StatusServiceUnavailable {
				return fmt.Errorf("%d: %s", status, text)
			}
			return nil
		})
		return status, header, text
	}
	seen, bearer := "", one.AdminToken
	for i := range 8 {
		name := fmt.Sprintf("project-%d", i)
		writer, reader := hubs[i%2], hubs[(i+1)%2]
		status, header, text := patient(writer, hubv1connect.ProjectsCreateProcedure, `{"name": "`+name+`"}`, bearer, seen)
		if status != http.StatusOK {
			t.Fatalf("%d: %s", status, text)
		}
		seen = header.Get("Axle-Position")
		// A token works everywhere as soon as its maker has it.
		status, header, text = patient(writer, hubv1connect.TokensCreateProcedure, `{"name": "next"}`, bearer, seen)
		var made struct{ Secret string }
		if err := json.Unmarshal([]byte(text), &made); status != http.StatusOK || err != nil {
			t.Fatalf("%d: %s: %v", status, text, err)
		}
		bearer = made.Secret
		before := header.Get("Axle-Position")
		status, header, text = patient(reader, hubv1connect.ProjectsListProcedure, "{}", bearer, before)
		if status != http.StatusOK || !strings.Contains(text, name) {
			t.Fatalf("%s was not read: %d: %s", name, status, text)
		}
		seen = header.Get("Axle-Position")
		asked, err1 := event.ParsePosition(before)
		got, err2 := event.ParsePosition(seen)
		if err1 != nil || err2 != nil || asked.Sequence == 0 || got.Before(asked) {
			t.Fatalf("answered at %q, asked for %q", seen, before)
		}
	}
}

func TestServicesThatCannotBe(t *testing.T) {
	b := newBed(t)
	b.fleet(t)
	must(t, b.services.Create, &hubv1.CreateServiceRequest{Ref: onEdge("web"), Spec: webSpec()})
	tests := map[string]struct {
		ref    *hubv1.ServiceRef
		change func(*hubv1.ServiceSpec)
		code   errcode.Code
		text   string
	}{
		"unknown repository": {onEdge("web"), func(s *hubv1.ServiceSpec) { s.Repository = "nowhere" }, errcode.Invalid, `"nowhere"`},
		"unknown url":        {onEdge("web"), func(s *hubv1.ServiceSpec) { s.Repository, s.Git.Url = "", "https://example.com/x.git" }, errcode.Invalid, "https://example.com/x.git"},
		"no ref":             {onEdge("web"), func(s *hubv1.ServiceSpec) { s.Git.Ref = " " }, errcode.Invalid, "git.ref"},
		"outside":            {onEdge("web"), func(s *hubv1.ServiceSpec) { s.Git.Folder = "../etc" }, errcode.Invalid, "git.folder"},
		"no source":          {onEdge("web"), func(s *hubv1.ServiceSpec) { s.Git, s.Repository = nil, "" }, errcode.Invalid, "git"},
		"namespace":          {onEdge("web"), func(s *hubv1.ServiceSpec) { s.Namespace = "A B" }, errcode.Invalid, "namespace"},
		"bad name":           {onEdge("Not_A_Name"), func(*hubv1.ServiceSpec) {}, errcode.Invalid, "name"},
		"unknown cluster":    {&hubv1.ServiceRef{Cluster: "edge-9", Name: "web"}, func(*hubv1.ServiceSpec) {}, errcode.NotFound, "edge-9"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			spec := webSpec()
			tc.change(spec)
			if tc.ref.GetCluster() == "edge-1" && tc.ref.GetName() == "web" {
				refused(t, b.services.Update, &hubv1.UpdateServiceRequest{Ref: tc.ref, Spec: spec}, tc.code, tc.text)
				tc.ref = onEdge("new")
			}
			refused(t, b.services.Create, &hubv1.CreateServiceRequest{Ref: tc.ref, Spec: spec}, tc.code, tc.text)
			refused(t, b.services.Apply, &hubv1.ApplyServiceRequest{Ref: tc.ref, Spec: spec}, tc.code, tc.text)
		})
	}
	refused(t, b.services.Create, &hubv1.CreateServiceRequest{Ref: onEdge("web"), Spec: webSpec()}, errcode.Conflict, "exists already")
	refused(t, b.services.Update, &hubv1.UpdateServiceRequest{Ref: onEdge("none"), Spec: webSpec()}, errcode.NotFound, "edge-1/none")
	if all := must(t, b.services.List, &hubv1.ListServicesRequest{}); len(all.GetServices()) != 1 {
		t.Errorf("%d services are left, want 1", len(all.GetServices()))
	}
}

func TestDryRunsStoreNothing(t *testing.T) {
	b := newBed(t)
	b.fleet(t)
	if got := must(t, b.services.Create, &hubv1.CreateServiceRequest{Ref: onEdge("web"), Spec: webSpec(), DryRun: true}); got.GetName() != "web" {
		t.Errorf("the answer of a dry run: %v", got)
	}
	if got := must(t, b.services.Apply, &hubv1.ApplyServiceRequest{Ref: onEdge("web"), Spec: webSpec(), DryRun: true}); got.GetResult() != "created" {
		t.Errorf("the result of a dry run: %q", got.GetResult())
	}
	refused(t, b.services.Get, &hubv1.GetServiceRequest{Ref: onEdge("web")}, errcode.NotFound, "edge-1/web")
	must(t, b.services.Create, &hubv1.CreateServiceRequest{Ref: onEdge("web"), Spec: webSpec()})
	changed := webSpec()
	changed.Version = "v2"
	if got := must(t, b.services.Update, &hubv1.UpdateServiceRequest{Ref: onEdge("web"), Spec: changed, DryRun: true}); got.GetSpec().GetVersion() != "v2" {
		t.Errorf("the answer of a dry run: %v", got.GetSpec())
	}
	if got := must(t, b.services.Get, &hubv1.GetServiceRequest{Ref: onEdge("web")}); got.GetSpec().GetVersion() != "" {
		t.Errorf("a dry run was stored: %v", got.GetSpec())
	}
	for _, e := range must(t, b.events.List, &hubv1.ListEventsRequest{}).GetEvents() {
		if e.GetKind() == "service.updated" {
			t.Errorf("a dry run is an event: %v", e)
		}
	}
}

func TestWhatIsUsedIsNotDeleted(t *testing.T) {
	b := newBed(t)
	b.fleet(t)
	must(t, b.services.Create, &hubv1.CreateServiceRequest{Ref: onEdge("web"), Spec: webSpec()})
	refused(t, b.repositories.Delete, &hubv1.DeleteRepositoryRequest{Name: "fleet"}, errcode.Conflict, "used by service edge-1/web;")
	refused(t, b.clusters.Delete, &hubv1.DeleteClusterRequest{Name: "edge-1"}, errcode.Conflict, "1 services")
	must(t, b.services.Get, &hubv1.GetServiceRequest{Ref: onEdge("web")})
	must(t, b.clusters.Delete, &hubv1.DeleteClusterRequest{Name: "edge-1", Detach: true})
	refused(t, b.services.Get, &hubv1.GetServiceRequest{Ref: onEdge("web")}, errcode.NotFound, "edge-1/web")
	refused(t, b.clusters.Get, &hubv1.GetClusterRequest{Name: "edge-1"}, errcode.NotFound, "edge-1")
	must(t, b.repositories.Delete, &hubv1.DeleteRepositoryRequest{Name: "fleet"})
	refused(t, b.repositories.Get, &hubv1.GetRepositoryRequest{Name: "fleet"}, errcode.NotFound, "fleet")
}

func TestADeletedClusterLeavesNoCredentials(t *testing.T) {
	b := newBed(t)
	id, deploy := b.deployToken(t, "edge-1")
	if _, err := b.Parts().Identity.Authenticate(t.Context(), deploy); err != nil {
		t.Fatal(err)
	}
	refused(t, b.clusters.Delete, &hubv1.DeleteClusterRequest{Name: "edge-9"}, errcode.NotFound, "edge-9")
	must(t, b.clusters.Delete, &hubv1.DeleteClusterRequest{Name: "edge-1"})
	if _, err := b.Parts().Identity.Authenticate(t.Context(), deploy); !errcode.Is(err, errcode.Unauthorized) {
		t.Errorf("its token: %v", err)
	}
	if _, err := b.Parts().Store.AgentKey(t.Context(), id); !errcode.Is(err, errcode.NotFound) {
		t.Errorf("its key: %v", err)
	}
	b.deployToken(t, "edge-1")
}

func TestEventsOfOneObject(t *testing.T) {
	b := newBed(t)
	b.fleet(t)
	must(t, b.clusters.Create, &hubv1.CreateClusterRequest{Name: "edge-2"})
	for _, name := range []string{"web", "shop"} {
		must(t, b.services.Create, &hubv1.CreateServiceRequest{Ref: onEdge(name), Spec: webSpec()})
	}
	must(t, b.services.Pause, &hubv1.PauseServiceRequest{Ref: onEdge("web")})
	objects := func(q *hubv1.ListEventsRequest) map[string]int {
		count := map[string]int{}
		for _, e := range must(t, b.events.List, q).GetEvents() {
			count[e.GetObject()]++
		}
		return count
	}
	if got := objects(&hubv1.ListEventsRequest{Cluster: "edge-1", Service: "web"}); len(got) != 1 || got["service edge-1/web"] != 2 {
		t.Errorf("of one service: %v", got)
	}
	if got := objects(&hubv1.ListEventsRequest{Cluster: "edge-1"}); got["service edge-1/shop"] != 1 || got["cluster edge-2"] != 0 || got["cluster edge-1"] != 1 {
		t.Errorf("of one cluster: %v", got)
	}
	if got := must(t, b.events.List, &hubv1.ListEventsRequest{Limit: 1}).GetEvents(); len(got) != 1 || got[0].GetObject() != "service edge-1/web" || got[0].GetBy() != hubtest.Admin {
		t.Errorf("the last event: %v", got)
	}
	refused(t, b.events.List, &hubv1.ListEventsRequest{Cluster: "edge-9"}, errcode.NotFound, "edge-9")
}

func TestConfirmRestoreReleasesDeletes(t *testing.T) {
	b := newBed(t)
	if status := must(t, b.hub.Status, &hubv1.HubStatusRequest{}); status.GetDeletesHeld() || status.GetRestoredFrom() != "" {
		t.Errorf("a fresh hub: %v", status)
	}
	parts := b.Parts()
	present := parts.Feed.Incarnation().ID
	if _, err := parts.Store.BeginIncarnation(t.Context(), present, "", false); err != nil {
		t.Fatal(err)
	}
	held := must(t, b.hub.Status, &hubv1.HubStatusRequest{})
	if !held.GetDeletesHeld() || held.GetRestoredFrom() != present || held.GetIncarnation() == present {
		t.Errorf("after a restore: %v", held)
	}
	asWriter := hubv1connect.NewHubClient(http.DefaultClient, b.URL, signedIn(b.token(t, "read", "write").GetSecret()))
	refused(t, asWriter.ConfirmRestore, &hubv1.ConfirmRestoreRequest{}, errcode.Forbidden, "admin")
	if got := must(t, b.hub.ConfirmRestore, &hubv1.ConfirmRestoreRequest{}); got.GetIncarnation() != held.GetIncarnation() {
		t.Errorf("confirmed %q, want %q", got.GetIncarnation(), held.GetIncarnation())
	}
	if status := must(t, b.hub.Status, &hubv1.HubStatusRequest{}); status.GetDeletesHeld() || status.GetRestoredFrom() != "" {
		t.Errorf("after the confirmation: %v", status)
	}
}

func TestSecretsNeverComeBack(t *testing.T) {
	b := newBed(t)
	b.fleet(t)
	const value, password = "hunter2-of-a-service", "hunter2-of-a-repository"
	const spec = `{"repository": "fleet", "git": {"ref": "main", "folder": "web"}, "configuration": {"plain": "seen"}, "secrets": {"password": "` + value + `"}}`
	const ref = `"ref": {"cluster": "edge-1", "name": "web"}`
	const login = `"credentials": {"username": "git", "password": "` + password + `", "knownHosts": "` + password + `"}`
	calls := [][2]string{
		{"Repositories/Create", `{"name": "private", "url": "https://127.0.0.1:9/private.git", ` + login + `}`},
		{"Repositories/Update", `{"name": "private", ` + login + `}`},
		{"Repositories/Get", `{"name": "private"}`},
		{"Repositories/Refresh", `{"name": "private"}`},
		{"Repositories/List", `{}`},
		{"Services/Create", `{` + ref + `, "spec": ` + spec + `, "dryRun": true}`},
		{"Services/Create", `{` + ref + `, "spec": ` + spec + `}`},
		{"Services/Create", `{` + ref + `, "spec": ` + spec + `}`},
		{"Services/Update", `{` + ref + `, "spec": ` + spec + `}`},
		{"Services/Update", `{` + ref + `, "spec": {"configuration": {"password": "x"}}, "fields": ["configuration"]}`},
		{"Services/Apply", `{` + ref + `, "spec": ` + spec + `}`},
		{"Services/Get", `{` + ref + `}`},
		{"Services/List", `{}`},
		{"Services/Pause", `{` + ref + `}`},
		{"Services/Resume", `{` + ref + `}`},
		{"Services/Sync", `{` + ref + `}`},
		{"Services/ListRevisions", `{` + ref + `}`},
		{"Services/Rollback", `{` + ref + `, "revision": 1}`},
		{"Events/List", `{"limit": 500}`},
		{"Services/Delete", `{` + ref + `}`},
		{"Repositories/Delete", `{"name": "private"}`},
	}
	for _, call := range calls {
		status, header, text := post(t, b.URL, "/axle.hub.v1."+call[0], call[1], "Authorization", "Bearer "+b.AdminToken)
		if status >= http.StatusInternalServerError {
			t.Errorf("%s: %d: %s", call[0], status, text)
		}
		for _, secret := range []string{value, password} {
			if strings.Contains(text, secret) || strings.Contains(fmt.Sprint(header), secret) {
				t.Errorf("%s answers with a secret: %s", call[0], text)
			}
		}
		if call[0] == "Services/Get" && (!strings.Contains(text, `"password"`) || !strings.Contains(text, "seen")) {
			t.Errorf("the keys are not shown: %s", text)
		}
	}
	if _, _, text := post(t, b.URL, "/axle.hub.v1.Tokens/List", "{}", "Authorization", "Bearer "+b.AdminToken); strings.Contains(text, b.AdminToken) {
		t.Errorf("a bearer is listed: %s", text)
	}
	stored, err := b.repositories.Get(t.Context(), connect.NewRequest(&hubv1.GetRepositoryRequest{Name: "private"}))
	if err == nil {
		t.Errorf("the deleted repository is there: %v", stored.Msg)
	}
}
