package hub_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/chartserver"
)

// newBindingsBed is a hub with the projects shop and lab, each with a cluster. owner
// writes services of shop; mallory registers repositories of lab.
func newBindingsBed(t *testing.T) *tableBed {
	t.Helper()
	h := hubtest.New(t, hubtest.Config{Hub: hub.Config{AllowHTTPUpstreams: true}})
	b := &tableBed{Hub: h, t: t, bearers: map[string]string{"admin": h.AdminToken}, ids: map[string]string{}, client: &http.Client{}}
	for _, project := range []string{"shop", "lab"} {
		b.must("Projects/Create", fmt.Sprintf(`{"name": %q, "limits": {"clusterScoped": true}}`, project))
		b.must("Clusters/Create", fmt.Sprintf(`{"name": "edge-%[1]s", "project": %[1]q}`, project))
	}
	b.person("owner", `{"project": "shop"}`, "write", "git")
	b.person("mallory", `{"project": "lab"}`, "write", "git")
	return b
}

// person makes a user with a token and actions at a place.
func (b *tableBed) person(name, place string, actions ...string) {
	b.t.Helper()
	made := b.must("Users/Create", fmt.Sprintf(`{"email": "%s@example.com", "tokenScopes": ["admin"]}`, name))
	b.bearers[name] = made["token"].(string)
	b.must("Bindings/Create", fmt.Sprintf(`{"subjectKind": "user", "subject": "%s@example.com", "actions": ["%s"], "place": %s}`, name, strings.Join(actions, `", "`), place))
}

// ok is as for what has to work.
func (b *tableBed) ok(who, procedure, request string) map[string]any {
	b.t.Helper()
	status, answer := b.as(who, procedure, request)
	if status != http.StatusOK {
		b.t.Fatalf("%s by %s: %s: %d: %v", procedure, who, request, status, answer)
	}
	return answer
}

// chart is a service's spec of the chart web at a URL.
func chart(url, more string) string {
	return fmt.Sprintf(`{"helm": {"url": %q, "chart": "web", "version": ">=1"%s}}`, url, more)
}

// source returns a field of the first source of a service, empty while there is none.
func (b *tableBed) source(cluster, service, field string) string {
	b.t.Helper()
	status, answer := b.as("admin", "Services/Get", fmt.Sprintf(`{"ref": {"cluster": %q, "name": %q}}`, cluster, service))
	if sources, _ := answer["sources"].([]any); status == http.StatusOK && len(sources) > 0 {
		text, _ := sources[0].(map[string]any)[field].(string)
		return text
	}
	return ""
}

// becomes waits until a field of a source has a value.
func (b *tableBed) becomes(cluster, service, field, want string) {
	b.t.Helper()
	eventually.For(b.t, time.Minute, cluster+"/"+service+" has "+field+" "+want, func() error {
		if is := b.source(cluster, service, field); is != want {
			return fmt.Errorf("it is %q", is)
		}
		return nil
	})
}

func charts(t *testing.T, version string) *chartserver.Server {
	t.Helper()
	s := chartserver.Start(false)
	t.Cleanup(s.Close)
	s.Publish(chartserver.Chart{Name: "web", Version: version, Files: map[string]string{"templates/cm.yaml": "kind: ConfigMap\n"}})
	return s
}

// A stranger registers the URL of a chart that services of others run and that nobody
// registered, and then moves it to charts of their own. Neither a change of a service
// nor a cluster that a global service reaches later takes them.
func TestAStrangerCannotCaptureAChartsURL(t *testing.T) {
	t.Parallel()
	b := newBindingsBed(t)
	genuine, stranger := charts(t, "1.0.0"), charts(t, "9.9.9")
	apply := func(more string) {
		b.ok("owner", "Services/Apply", fmt.Sprintf(`{"ref": {"cluster": "edge-shop", "name": "web"}, "spec": %s}`, chart(genuine.URL(), more)))
	}
	apply("")
	b.must("GlobalServices/Apply", fmt.Sprintf(`{"name": "agent", "settings": {"tags": {"tier": "dev"}}, "spec": %s}`, chart(genuine.URL(), "")))
	b.must("Clusters/Update", `{"name": "edge-shop", "setTags": true, "tags": {"tier": "dev"}}`)
	for _, service := range []string{"web", "agent"} {
		b.becomes("edge-shop", service, "revision", "1.0.0")
	}

	b.ok("mallory", "Repositories/Create", fmt.Sprintf(`{"name": "a-first", "project": "lab", "type": "helm", "url": %q}`, genuine.URL()))
	apply(`, "release": "changed"`)
	b.must("Clusters/Update", `{"name": "edge-lab", "setTags": true, "tags": {"tier": "dev"}}`)
	b.becomes("edge-lab", "agent", "revision", "1.0.0")
	b.must("GlobalServices/Apply", fmt.Sprintf(`{"name": "agent", "settings": {"tags": {"tier": "dev"}}, "spec": %s}`, chart(genuine.URL(), `, "release": "changed"`)))

	b.as("mallory", "Repositories/Update", fmt.Sprintf(`{"name": "a-first", "url": %q}`, stranger.URL()))
	b.as("mallory", "Repositories/Refresh", `{"name": "a-first", "wait": true}`)
	for _, at := range [][2]string{{"edge-shop", "web"}, {"edge-shop", "agent"}, {"edge-lab", "agent"}} {
		if follows := b.source(at[0], at[1], "repository"); follows != genuine.URL() {
			t.Errorf("%s/%s follows %q, want the URL itself", at[0], at[1], follows)
		}
	}
	// What follows the genuine charts gets the next one; nothing gets the stranger's.
	genuine.Publish(chartserver.Chart{Name: "web", Version: "1.1.0", Files: map[string]string{"templates/cm.yaml": "kind: Secret\n"}})
	for _, at := range [][2]string{{"edge-shop", "web"}, {"edge-shop", "agent"}, {"edge-lab", "agent"}} {
		b.ok("admin", "Services/Sync", fmt.Sprintf(`{"ref": {"cluster": %q, "name": %q}}`, at[0], at[1]))
		b.becomes(at[0], at[1], "revision", "1.1.0")
	}

	// What the project itself registers is taken by a change, not by the same again.
	b.ok("owner", "Repositories/Create", fmt.Sprintf(`{"name": "ours", "project": "shop", "type": "helm", "url": %q}`, genuine.URL()))
	for _, step := range [][2]string{{`, "release": "changed"`, genuine.URL()}, {`, "ignoreHooks": true`, genuine.URL()}} {
		if apply(step[0]); b.source("edge-shop", "web", "repository") != step[1] {
			t.Errorf("with %s it follows %q", step[0], b.source("edge-shop", "web", "repository"))
		}
	}
	b.ok("owner", "Services/Update", `{"ref": {"cluster": "edge-shop", "name": "web"}, "spec": {"helm": {"version": ">=1.1"}}, "fields": ["helm.version"]}`)
	if follows := b.source("edge-shop", "web", "repository"); follows != "ours" {
		t.Errorf("with another version it follows %q, want what the project registered", follows)
	}
}

// The name that a hub of before gave to what it follows for a chart's URL can be
// computed. Who has it is never followed for the URL, and stops nobody.
func TestAComputedNameOfAChartStopsNobody(t *testing.T) {
	t.Parallel()
	b := newBindingsBed(t)
	genuine, stranger := charts(t, "1.0.0"), charts(t, "9.9.9")
	sum := sha256.Sum256([]byte(genuine.URL()))
	name := "charts-" + hex.EncodeToString(sum[:8])
	b.ok("mallory", "Repositories/Create", fmt.Sprintf(`{"name": %q, "project": "lab", "type": "helm", "url": %q}`, name, stranger.URL()))
	b.ok("owner", "Services/Create", fmt.Sprintf(`{"ref": {"cluster": "edge-shop", "name": "web"}, "spec": %s}`, chart(genuine.URL(), "")))
	b.becomes("edge-shop", "web", "revision", "1.0.0")
}

// What the hub follows by itself is nobody's: no call finds it by name.
func TestNobodyChangesWhatTheHubFollowsByItself(t *testing.T) {
	t.Parallel()
	b := newBindingsBed(t)
	genuine := charts(t, "1.0.0")
	b.ok("owner", "Services/Create", fmt.Sprintf(`{"ref": {"cluster": "edge-shop", "name": "web"}, "spec": %s}`, chart(genuine.URL(), "")))
	all, err := b.Parts().Cache.Repositories(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("the hub follows %v, %v", all, err)
	}
	for _, call := range []string{
		`Repositories/Get {"name": %q}`, `Repositories/Update {"name": %q, "url": "http://127.0.0.1:1/stranger"}`, `Repositories/Refresh {"name": %q}`,
		`Repositories/Delete {"name": %q}`, `Webhooks/Create {"name": "hook", "provider": "github", "repository": %q}`,
	} {
		procedure, request, _ := strings.Cut(call, " ")
		if status, answer := b.as("admin", procedure, fmt.Sprintf(request, all[0].Name)); status != http.StatusNotFound {
			t.Errorf("%s: %d: %v", procedure, status, answer)
		}
	}
}
