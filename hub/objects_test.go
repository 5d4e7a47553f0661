package hub_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/axle-cd/axle/hub"
	"github.com/axle-cd/axle/hub/hubtest"
)

// onBothHubs runs a test with a hub on each database. mallory registers repositories of
// lab; reader reads shop, where the repository platform is.
func onBothHubs(t *testing.T, test func(t *testing.T, b *tableBed)) {
	t.Parallel()
	for name, config := range map[string]func(t *testing.T) hub.Config{
		"sqlite": func(*testing.T) hub.Config { return hub.Config{} },
		"postgres": func(t *testing.T) hub.Config {
			return hub.Config{DatabaseURL: hubtest.Postgres(t), KeyFile: filepath.Join(t.TempDir(), "hub.key")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := hubtest.New(t, hubtest.Config{Hub: config(t)})
			b := &tableBed{Hub: h, t: t, bearers: map[string]string{"admin": h.AdminToken}, ids: map[string]string{}, client: &http.Client{}}
			for _, project := range []string{"shop", "lab"} {
				b.must("Projects/Create", fmt.Sprintf(`{"name": %q}`, project))
			}
			b.person("mallory", `{"project": "lab"}`, "write", "git")
			b.person("reader", `{"project": "shop"}`, "read")
			b.must("Repositories/Create", `{"name": "platform", "project": "shop", "url": "https://git.test/platform"}`)
			test(t, b)
		})
	}
}

// template is a request for a cluster template.
func template(repository, more string) string {
	return fmt.Sprintf(`{"name": "eks", "settings": {"repository": %q, "ref": "v1", "folder": "deploy/clusters/eks", "kinds": ["MachinePool.cluster.x-k8s.io", "Cluster.cluster.x-k8s.io", "Cluster.cluster.x-k8s.io"]}%s}`, repository, more)
}

// refused checks that a call is refused with a status and a text.
func (b *tableBed) refused(who, call, request string, status int, text string) {
	b.t.Helper()
	if got, answer := b.as(who, call, request); got != status || !strings.Contains(fmt.Sprint(answer["message"]), text) {
		b.t.Errorf("%s by %s: %d %v; want %d with %q", call, who, got, answer, status, text)
	}
}

// object is what a caller reads of the template eks.
func (b *tableBed) object(who string) (settings map[string]any, revision string) {
	b.t.Helper()
	one := b.ok(who, "ClusterTemplates/Get", `{"name": "eks"}`)
	return one["settings"].(map[string]any), fmt.Sprint(one["revision"])
}

func TestObjectsAreStored(t *testing.T) {
	onBothHubs(t, func(t *testing.T, b *tableBed) {
		if got := b.must("ClusterTemplates/Apply", template("platform", `, "dryRun": true`))["result"]; got != "created" {
			t.Errorf("a dry run answers %v", got)
		}
		b.refused("admin", "ClusterTemplates/Get", `{"name": "eks"}`, http.StatusNotFound, "axle clusters templates list")
		for i, want := range []string{"created", "unchanged", "updated"} {
			request := template("platform", "")
			if i == 2 {
				request = strings.Replace(request, "v1", "v2", 1)
			}
			if got := b.must("ClusterTemplates/Apply", request)["result"]; got != want {
				t.Errorf("declaration %d: %v, want %s", i, got, want)
			}
		}
		settings, revision := b.object("admin")
		if got := fmt.Sprint(settings); revision != "2" || got != "map[folder:deploy/clusters/eks kinds:[Cluster.cluster.x-k8s.io MachinePool.cluster.x-k8s.io] ref:v2 repository:platform]" {
			t.Errorf("revision %s: %s", revision, got)
		}
		// Whoever reads something reads the template, without the name of what is hidden.
		if settings, _ := b.object("mallory"); settings["repository"] != nil || settings["ref"] != "v2" {
			t.Errorf("mallory reads %v", settings)
		}
		if settings, _ := b.object("reader"); settings["repository"] != "platform" {
			t.Errorf("a reader of its repository reads %v", settings)
		}
		// What is declared by somebody is changed there.
		b.must("ClusterTemplates/Apply", template("platform", `, "management": {"by": {"tool": "terraform", "id": "infra"}, "takeOver": true}`))
		b.refused("admin", "ClusterTemplates/Delete", `{"name": "eks"}`, http.StatusConflict, "managed by Terraform")
		b.must("ClusterTemplates/Delete", `{"name": "eks", "management": {"by": {"tool": "terraform", "id": "infra"}}}`)
		b.refused("admin", "ClusterTemplates/Delete", `{"name": "eks"}`, http.StatusNotFound, "does not exist")
	})
}

// What is not for the caller is refused before anything of the request is looked at.
func TestObjectsAreWrittenByAdministrators(t *testing.T) {
	onBothHubs(t, func(t *testing.T, b *tableBed) {
		for _, request := range []string{template("platform", ""), template("none", ""), `{"name": "?"}`} {
			b.refused("mallory", "ClusterTemplates/Apply", request, http.StatusForbidden, "")
		}
		b.person("writer", `{}`, "read", "write", "create", "git")
		b.refused("writer", "ClusterTemplates/Apply", template("platform", ""), http.StatusForbidden, "administrator")
		b.refused("reader", "ClusterTemplates/Delete", `{"name": "none"}`, http.StatusForbidden, "")
		b.refused("nobody", "ClusterTemplates/List", `{}`, http.StatusUnauthorized, "")
	})
}

func TestObjectsKeepTheRulesOfTheirFields(t *testing.T) {
	onBothHubs(t, func(t *testing.T, b *tableBed) {
		for field, request := range map[string]string{
			"name: ":                            strings.Replace(template("platform", ""), `"eks"`, `"E_K"`, 1),
			"repository: is missing":            template("", ""),
			"folder: \"../x\" is not valid":     strings.Replace(template("platform", ""), "deploy/clusters/eks", "../x", 1),
			"kinds: \"cluster\" is not valid":   strings.Replace(template("platform", ""), "MachinePool.cluster.x-k8s.io", "cluster", 1),
			"kinds: is missing":                 `{"name": "eks", "settings": {"repository": "platform", "ref": "v1", "folder": "a"}}`,
			"ref: is missing":                   `{"name": "eks", "settings": {"repository": "platform"}}`,
			"repository: charts is of the type": template("charts", ""),
		} {
			if strings.HasPrefix(field, "repository: charts") {
				b.must("Repositories/Create", `{"name": "charts", "project": "shop", "type": "helm", "url": "https://charts.test"}`)
			}
			b.refused("admin", "ClusterTemplates/Apply", request, http.StatusBadRequest, field)
		}
		b.refused("admin", "ClusterTemplates/Apply", `{"name": "eks"}`, http.StatusBadRequest, "is missing")
		b.refused("admin", "ClusterTemplates/Apply", template("none", ""), http.StatusNotFound, `repository: repository "none" does not exist`)
	})
}

// forget deletes a repository under the template that names it, which no call does.
func (b *tableBed) forget(repositoryID string) {
	b.t.Helper()
	s := b.Parts().Store
	err := s.Write(b.t.Context(), func(ctx context.Context) error {
		users, _, err := s.ObjectUsers(ctx, repositoryID)
		if err != nil {
			return err
		}
		bound, err := s.References(ctx, []string{users[0].ID})
		if err == nil {
			err = s.PutReferences(ctx, users[0].ID, nil)
		}
		if err == nil {
			err = s.DeleteRepository(ctx, repositoryID)
		}
		if err == nil {
			err = s.PutReferences(ctx, users[0].ID, bound)
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// A name that an object mentions is bound to what it found, whoever takes the name later.
func TestAnObjectsReferenceIsNotCaptured(t *testing.T) {
	onBothHubs(t, func(t *testing.T, b *tableBed) {
		b.must("ClusterTemplates/Apply", template("platform", ""))
		b.refused("admin", "Repositories/Delete", `{"name": "platform"}`, http.StatusConflict, "ClusterTemplate eks")
		b.person("owner", `{"project": "shop"}`, "write", "git")
		b.refused("owner", "Repositories/Update", `{"name": "platform", "url": "https://git.test/other"}`, http.StatusForbidden, "")
		// However the repository went, a stranger's of its name is another one.
		repository := b.must("Repositories/Get", `{"name": "platform"}`)["id"].(string)
		b.forget(repository)
		b.ok("mallory", "Repositories/Create", `{"name": "platform", "project": "lab", "url": "https://git.test/stranger"}`)
		for _, who := range []string{"admin", "mallory"} {
			if settings, _ := b.object(who); settings["repository"] != nil {
				t.Errorf("%s reads the repository %v", who, settings["repository"])
			}
		}
		b.refused("admin", "ClusterTemplates/Apply", template("platform", ""), http.StatusConflict, "was deleted, and another one of that name is not taken in its place")
	})
}

// Of two changes that were made of the same revision, one is refused.
func TestOneOfTwoChangesOfAnObjectIsRefused(t *testing.T) {
	onBothHubs(t, func(t *testing.T, b *tableBed) {
		b.must("ClusterTemplates/Apply", template("platform", ""))
		answers := make([]int, 4)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				answers[i], _ = b.as("admin", "ClusterTemplates/Apply", strings.Replace(template("platform", `, "revision": 1`), "v1", fmt.Sprint("w", i), 1))
			})
		}
		all.Wait()
		counts := map[int]int{}
		for _, status := range answers {
			counts[status]++
		}
		if _, revision := b.object("admin"); counts[http.StatusOK] != 1 || counts[http.StatusConflict] != len(answers)-1 || revision != "2" {
			t.Errorf("the answers are %v, and the revision %s", answers, revision)
		}
		b.refused("admin", "ClusterTemplates/Apply", template("platform", `, "revision": 1`), http.StatusConflict, "has revision 2, not 1")
	})
}

func TestObjectsAreListedInPages(t *testing.T) {
	onBothHubs(t, func(t *testing.T, b *tableBed) {
		for i := range 5 {
			b.must("ClusterTemplates/Apply", strings.Replace(template("platform", ""), `"eks"`, fmt.Sprintf(`"eks-%d"`, i), 1))
		}
		var got []string
		for token := ""; ; {
			page := b.ok("reader", "ClusterTemplates/List", fmt.Sprintf(`{"pageSize": 2, "pageToken": %q}`, token))
			rows := rowsIn(page, "clusterTemplates", "name")
			got = append(got, strings.Join(rows, " "))
			if token, _ = page["nextPageToken"].(string); token == "" {
				break
			}
		}
		if pages := strings.Join(got, ", "); pages != "eks-0 eks-1, eks-2 eks-3, eks-4" {
			t.Errorf("the pages are %s", pages)
		}
		b.refused("reader", "ClusterTemplates/List", `{"pageToken": "?"}`, http.StatusBadRequest, "page token")
	})
}

// A write is recorded with what was before and after, and has an event.
func TestWritesOfObjectsAreRecorded(t *testing.T) {
	onBothHubs(t, func(t *testing.T, b *tableBed) {
		b.must("ClusterTemplates/Apply", template("platform", ""))
		b.must("ClusterTemplates/Apply", strings.Replace(template("platform", ""), "v1", "v2", 1))
		b.must("ClusterTemplates/Delete", `{"name": "eks"}`)
		var kinds []string
		for _, e := range b.must("Events/List", `{}`)["events"].([]any) {
			if e := e.(map[string]any); e["object"] == "cluster template eks" {
				kinds = append(kinds, fmt.Sprint(e["kind"]))
			}
		}
		if got := strings.Join(kinds, " "); got != "cluster_template.deleted cluster_template.updated cluster_template.created" {
			t.Errorf("the events are %s", got)
		}
		records := b.must("Audit/List", `{"object": "cluster_template"}`)["records"].([]any)
		text := fmt.Sprint(records)
		changes := regexp.MustCompile(`"before":".{0,200}v1.{0,200}"after":".{0,200}v2`)
		if len(records) != 3 || !changes.MatchString(text) {
			t.Errorf("%d records: %s", len(records), text)
		}
	})
}
