package store

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/store/accounts"
	"github.com/axle-cd/axle/hub/store/applications"
	"github.com/axle-cd/axle/hub/store/artifacts"
	"github.com/axle-cd/axle/hub/store/auditlog"
	"github.com/axle-cd/axle/hub/store/configuration"
	"github.com/axle-cd/axle/hub/store/globals"
	"github.com/axle-cd/axle/hub/store/indexed"
	"github.com/axle-cd/axle/hub/store/notifications"
	"github.com/axle-cd/axle/hub/store/objects"
	"github.com/axle-cd/axle/hub/store/operations"
	"github.com/axle-cd/axle/hub/store/previews"
	"github.com/axle-cd/axle/hub/store/revisions"
	"github.com/axle-cd/axle/hub/store/rollouts"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/hub/store/signins"
	"github.com/axle-cd/axle/hub/store/sources"
	"github.com/axle-cd/axle/hub/store/statuses"
)

// definitions are all definitions with the queries that read them. Contents are
// read with the revisions that refer to them.
var definitions = map[rows.Definition]string{
	projectTable: selectProjects, countedProjectTable: selectCountedProjects, clusterTable: selectClusters,
	serviceTable: selectServices, rowTable: selectRows, testRunTable: selectTestRuns,
	eventTable: selectEvents, incarnationTable: selectIncarnation,
	replicaTable: selectReplicas, statuses.Statuses: statuses.Statuses.Select(), statuses.Sums: statuses.Sums.Select(),
	artifacts.Artifacts: artifacts.Artifacts.Select(), previews.Previews: previews.Previews.Select(), previews.Diffs: previews.Diffs.Select(),
	revisions.Advanced: revisions.Advanced.Select() + "LEFT JOIN clusters c ON c.id = s.cluster_id", revisions.Contents: revisions.Contents.Select(),
	revisions.Present:  revisions.Present.Select() + "JOIN contents o ON o.id = r.content_id LEFT JOIN specs d ON d.owner_id = r.service_id AND d.version = r.spec_version JOIN services s ON s.id = r.service_id",
	globals.Globals:    globals.Globals.Select() + "LEFT JOIN projects p ON p.id = g.project_id LEFT JOIN specs d ON d.owner_id = g.id AND d.version = g.spec_version",
	globals.Candidates: globals.Candidates.Select(), globals.Targets: globals.Targets.Select(), globals.Clusters: globals.Clusters.Select(), globals.Reports: globals.SelectReports, globals.Templates: globals.Templates.Select(),
	revisions.Revisions: revisions.Revisions.Select() +
		"JOIN contents o ON o.id = r.content_id LEFT JOIN specs d ON d.owner_id = r.service_id AND d.version = r.spec_version ",
}

func init() {
	for _, room := range []map[rows.Definition]string{accounts.Queries, auditlog.Queries, configuration.Queries, rollouts.Queries, sources.Queries, notifications.Queries, operations.Queries, objects.Queries, applications.Queries, indexed.Queries, signins.Queries} {
		maps.Copy(definitions, room)
	}
}

func TestEveryDefinitionIsChecked(t *testing.T) {
	listed, defined := map[string]int{}, map[string]int{}
	for d := range definitions {
		listed[d.Name()]++
	}
	for _, pattern := range []string{"*.go", "*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "rows/") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range regexp.MustCompile(`rows\.Of\("(\w+)`).FindAllSubmatch(text, -1) {
				defined[string(found[1])]++
			}
		}
	}
	for table, n := range defined {
		if listed[table] < n {
			t.Errorf("table %s is defined %d times, of which %d are among the definitions of this test", table, n, listed[table])
		}
	}
	if len(defined) < 35 {
		t.Errorf("%d tables were found", len(defined))
	}
}

func TestDefinitionsMatchTheSchema(t *testing.T) {
	s, err := Open(t.Context(), Databases["sqlite"](t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for d, query := range definitions {
		types := map[string]string{}
		err := s.each(t.Context(), "SELECT name, type FROM pragma_table_info($1)", []any{d.Name()}, func(row scan) error {
			var name, kind string
			err := row(&name, &kind)
			types[name] = kind
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		_, columns := d.Describe()
		for _, c := range columns {
			if c.Own() && types[c.Name] != c.Type {
				t.Errorf("table %s: column %s is read as %s; the schema says %q", d.Name(), c.Name, c.Type, types[c.Name])
			}
		}
		if err := s.each(t.Context(), query, nil, func(scan) error { return nil }); err != nil {
			t.Errorf("table %s: %v\n%s", d.Name(), err, query)
		}
	}
}

// TestColumnsStandBesideTheirFields finds swapped columns of one type: a column has
// the name of its field, except for those listed.
func TestColumnsStandBesideTheirFields(t *testing.T) {
	for d := range definitions {
		for _, wrong := range misplaced(d) {
			t.Error(wrong)
		}
	}
}

func TestColumnsThatChangedPlacesAreFound(t *testing.T) {
	right := rows.Of("users", func(c *rows.Columns, u *identity.User) {
		rows.Col(c, "id", &u.ID)
		rows.Col(c, "name", &u.Name)
	})
	swapped := rows.Of("users", func(c *rows.Columns, u *identity.User) {
		rows.Col(c, "id", &u.Name)
		rows.Col(c, "name", &u.ID)
	})
	if wrong := misplaced(right); len(wrong) != 0 {
		t.Errorf("nothing changed places: %v", wrong)
	}
	if wrong := misplaced(swapped); len(wrong) != 2 {
		t.Errorf("two columns changed places: %v", wrong)
	}
}

// elsewhere are the fields of columns with another name, by type and column.
var elsewhere = map[string]string{
	"index.Facts COALESCE(p.name, '')": "Project", "index.Facts COALESCE(CASE WHEN r.name LIKE '/%' THEN r.url ELSE r.name END, '')": "Repository", "index.Facts COALESCE(g.name, '')": "Global",
	"index.Facts managed_by_tool": "ManagedBy.Tool", "index.Facts COALESCE(o.digest, '')": "Desired.Digest", "index.Facts COALESCE(o.source_revision, '')": "Desired.SourceRevision",
	"index.Facts COALESCE(t.sync, '')": "Status.Sync", "index.Facts COALESCE(t.health, '')": "Status.Health", "index.Facts COALESCE(t.tarball_digest, '')": "Status.TarballDigest",
	"index.Facts COALESCE(t.spec_digest, '')": "Status.SpecDigest", "index.Facts COALESCE(t.source_revision, '')": "Status.SourceRevision", "index.Facts COALESCE(t.reported_at, 0)": "Status.ReportedAt",
	"index.Facts " + indexed.Failing: "Failing", "indexed.repository health_message": "Message",
	"record.Repository CASE WHEN normal_of = url THEN written_url ELSE '' END": "Written",
	"notify.Sink COALESCE(p.name, '')":                                         "Project",
	"notify.Sink managed_by_tool":                                              "ManagedBy.Tool",
	"notify.Sink managed_by_id":                                                "ManagedBy.ID",
	"notify.Router COALESCE(p.name, '')":                                       "Project",
	"notify.Router managed_by_tool":                                            "ManagedBy.Tool",
	"notify.Router managed_by_id":                                              "ManagedBy.ID",
	"notify.Sink (SELECT count(*) FROM notification_messages m WHERE m.sink_id = n.id AND m.state IN ('open', 'trying'))":                       "Waiting",
	"notify.Sink (SELECT COALESCE(min(m.created_at), 0) FROM notification_messages m WHERE m.sink_id = n.id AND m.state IN ('open', 'trying'))": "OldestAt",
	"account.Device pause":                                                    "Interval",
	"identity.Token COALESCE(u.kind, '')":                                     "OwnerKind",
	"identity.Token COALESCE(u.admin, 0)":                                     "OwnerAdmin",
	"federation.Trust COALESCE(u.name, '')":                                   "Account",
	"identity.Binding COALESCE(u.name, g.name, '')":                           "Subject",
	"identity.Binding COALESCE(p.name, c.name, sc.name || '/' || s.name, '')": "Object",
	"identity.Group (SELECT count(DISTINCT m.user_id) FROM group_members m WHERE m.group_id = user_groups.id)": "Members",

	"fleet.Project (SELECT count(*) FROM clusters c WHERE c.project_id = p.id)": "Clusters",
	"fleet.Project (SELECT count(*) FROM services s WHERE s.project_id = p.id)": "Services",

	"fleet.Cluster destroying": "Origin.Destroying", "fleet.Cluster COALESCE(p.name, '')": "Project",
	"fleet.StoredService COALESCE(c.name, '')":                                          "Cluster",
	"fleet.StoredService COALESCE(p.name, '')":                                          "Project",
	"fleet.StoredService COALESCE(o.repository_id, '')":                                 "Desired.RepositoryID",
	"fleet.StoredService COALESCE(o.source_revision, '')":                               "Desired.SourceRevision",
	"fleet.StoredService COALESCE(o.digest, '')":                                        "Desired.Digest",
	"fleet.StoredService COALESCE(o.entry, '')":                                         "Desired.Entry",
	"fleet.StoredService COALESCE(o.size, 0)":                                           "Desired.Size",
	"fleet.StoredService COALESCE(o.message, '')":                                       "Desired.Message",
	"fleet.StoredService COALESCE(o.author, '')":                                        "Desired.Author",
	"fleet.StoredService COALESCE(o.committed_at, 0)":                                   "Desired.CommittedAt",
	"fleet.Service COALESCE(c.name, '')":                                                "Cluster",
	"fleet.Project managed_by_tool":                                                     "ManagedBy.Tool",
	"fleet.Project managed_by_id":                                                       "ManagedBy.ID",
	"identity.User managed_by_tool":                                                     "ManagedBy.Tool",
	"identity.User managed_by_id":                                                       "ManagedBy.ID",
	"identity.Group managed_by_tool":                                                    "ManagedBy.Tool",
	"identity.Group managed_by_id":                                                      "ManagedBy.ID",
	"identity.Member managed_by_tool":                                                   "ManagedBy.Tool",
	"identity.Member managed_by_id":                                                     "ManagedBy.ID",
	"identity.Binding managed_by_tool":                                                  "ManagedBy.Tool",
	"identity.Binding managed_by_id":                                                    "ManagedBy.ID",
	"account.StoredProvider managed_by_tool":                                            "ManagedBy.Tool",
	"account.StoredProvider managed_by_id":                                              "ManagedBy.ID",
	"federation.Trust managed_by_tool":                                                  "ManagedBy.Tool",
	"federation.Trust managed_by_id":                                                    "ManagedBy.ID",
	"record.Webhook managed_by_tool":                                                    "ManagedBy.Tool",
	"record.Webhook managed_by_id":                                                      "ManagedBy.ID",
	"sources.secretWebhook managed_by_tool":                                             "ManagedBy.Tool",
	"sources.secretWebhook managed_by_id":                                               "ManagedBy.ID",
	"fanout.Rollout managed_by_tool":                                                    "ManagedBy.Tool",
	"fanout.Rollout managed_by_id":                                                      "ManagedBy.ID",
	"identity.User admin_managed_by_tool":                                               "AdminManagedBy.Tool",
	"fleet.Project limits_managed_by_tool":                                              "LimitsManagedBy.Tool",
	"identity.User admin_managed_by_id":                                                 "AdminManagedBy.ID",
	"fleet.Project limits_managed_by_id":                                                "LimitsManagedBy.ID",
	"config.ValueSetRow managed_by_tool":                                                "ManagedBy.Tool",
	"config.ValueSetRow managed_by_id":                                                  "ManagedBy.ID",
	"fleet.Cluster managed_by_tool":                                                     "ManagedBy.Tool",
	"fleet.Cluster managed_by_id":                                                       "ManagedBy.ID",
	"fleet.StoredService managed_by_tool":                                               "ManagedBy.Tool",
	"fleet.StoredRevision s.id":                                                         "ServiceID",
	"globals.Global COALESCE(p.name, '')":                                               "Project",
	"globals.Global held_version":                                                       "Held",
	"globals.Report COALESCE(c.name, '')":                                               "Cluster",
	"globals.Report COALESCE(p.name, '')":                                               "Project",
	"globals.Report CASE WHEN c.registered_at > 0 THEN 1 ELSE 0 END":                    "Registered",
	"globals.Report CASE WHEN s.pinned_revision > 0 OR s.paused <> 0 THEN 1 ELSE 0 END": "Held",
	"globals.Report CASE WHEN t.tarball_digest = o.digest AND t.spec_digest = s.spec_digest AND s.undelivered = 0 THEN 1 ELSE 0 END": "Current",
	"globals.Global managed_by_tool":          "ManagedBy.Tool",
	"globals.Global managed_by_id":            "ManagedBy.ID",
	"globals.Candidate managed_by_tool":       "ManagedBy.Tool",
	"globals.Candidate managed_by_id":         "ManagedBy.ID",
	"globals.Target managed_by_tool":          "ManagedBy.Tool",
	"globals.Target managed_by_id":            "ManagedBy.ID",
	"fleet.StoredService managed_by_id":       "ManagedBy.ID",
	"fleet.Row COALESCE(o.size, 0)":           "TarballBytes",
	"fleet.Row pinned_revision":               "Pinned",
	"fleet.TestRun run_key":                   "Key",
	"fleet.StoredRevision actor":              "By",
	"fanout.Rollout actor":                    "By",
	"event.Entry actor":                       "By",
	"preview.Preview actor":                   "By",
	"config.ValueSetRow COALESCE(p.name, '')": "Project",

	"record.Head change_key":             "Key",
	"record.Repository health":           "Health.State",
	"record.Repository health_message":   "Health.Message",
	"record.Repository checked_at":       "Health.CheckedAt",
	"record.Repository fetched_at":       "Health.FetchedAt",
	"record.Repository failed_since":     "Health.FailedSince",
	"record.Repository next_check_at":    "Health.NextAt",
	"record.Repository bytes":            "Health.Bytes",
	"record.Repository managed_by_tool":  "ManagedBy.Tool",
	"record.Repository managed_by_id":    "ManagedBy.ID",
	"record.Artifact repository_id":      "Recipe.RepositoryID",
	"record.Artifact commit_id":          "Recipe.Commit",
	"sources.secretWebhook secret":       "sealed",
	"sources.placed replica":             "Owner",
	"sources.placed COALESCE(p.url, '')": "OwnerURL",
	"sources.placed expires_at":          "expires",
	"sources.placed moved_at":            "moved",
	"sources.placed r.created_at":        "created",
	"sources.placed {now}":               "now",
	"store.member seen_at":               "seen",
	"store.member draining_until":        "draining",
	"store.member incarnation":           "Position.Incarnation",
	"store.member sequence":              "Position.Sequence",
	"store.member {now}":                 "now",

	"operations.Operation actor": "By",

	"objects.Object managed_by_tool": "ManagedBy.Tool",
	"objects.Object managed_by_id":   "ManagedBy.ID",

	"audit.Row seq":            "Sequence",
	"audit.Row at":             "Columns.At",
	"audit.Row actor":          "Columns.Actor",
	"audit.Row cluster_id":     "Columns.ClusterID",
	"audit.Row action":         "Columns.Action",
	"audit.Row kind":           "Columns.Kind",
	"audit.Row name":           "Columns.Name",
	"audit.Row result":         "Columns.Result",
	"audit.Row prev":           "Previous",
	"hashchain.Checkpoint seq": "Sequence",

	"revisions.Content repository_id":   "Content.RepositoryID",
	"revisions.Content source_revision": "Content.SourceRevision",
	"revisions.Content digest":          "Content.Digest",
	"revisions.Content entry":           "Content.Entry",
	"revisions.Content size":            "Content.Size",
	"revisions.Content message":         "Content.Message",
	"revisions.Content author":          "Content.Author",
	"revisions.Content committed_at":    "Content.CommittedAt",
}

// expression matches the column in an expression such as COALESCE(o.digest, …).
var expression = regexp.MustCompile(`\w\.(\w+)`)

// misplaced returns the columns of a definition that are not beside the field of
// their name.
func misplaced(d rows.Definition) (wrong []string) {
	v, columns := d.Describe()
	fields := map[place]string{}
	fieldsOf(reflect.ValueOf(v).Elem(), "", fields)
	for _, c := range columns {
		to := reflect.ValueOf(c.Field)
		field := fields[place{to.Pointer(), to.Type().Elem()}]
		want, listed := elsewhere[strings.TrimPrefix(fmt.Sprintf("%T", v), "*")+" "+c.Name]
		switch {
		case listed && field == want:
		case !listed && c.Name == "0": // a count that is not asked for
		case !listed && plainName(c.Name) == strings.ToLower(field):
		default:
			wrong = append(wrong, fmt.Sprintf("table %s: column %s of a %T is beside the field %s", d.Name(), c.Name, v, field))
		}
	}
	return wrong
}

func plainName(column string) string {
	if found := expression.FindStringSubmatch(column); found != nil {
		column = found[1]
	}
	return strings.ReplaceAll(column, "_", "")
}

// place is the address and type of a field; a struct has the address of its first field.
type place struct {
	address uintptr
	of      reflect.Type
}

// fieldsOf returns the fields of v by name, including those of embedded structs.
func fieldsOf(v reflect.Value, path string, into map[place]string) {
	for i := range v.NumField() {
		field, name := v.Type().Field(i), path
		if !field.Anonymous {
			name += field.Name
			into[place{v.Field(i).UnsafeAddr(), field.Type}] = name
			name += "."
		}
		if field.Type.Kind() == reflect.Struct {
			fieldsOf(v.Field(i), name, into)
		}
	}
}
