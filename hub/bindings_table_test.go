package hub_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/eventually"
)

// references are the fields of a spec that name a repository, each with the spec that
// names X there; OWN is a Git repository of the project itself. Helm says that it takes a
// chart, byURL that it is a URL.
var references = []struct {
	field, spec string
	helm, byURL bool
	// at is the source that the field is of.
	at int
}{
	{"repository", `{"repository": "X", "git": {"ref": "main", "folder": "F"}}`, false, false, 0},
	{"git.url", `{"git": {"url": "X", "ref": "main", "folder": "F"}}`, false, true, 0},
	{"sources[0].repository", `{"repository": "OWN", "git": {"ref": "main"}, "sources": [{"path": "a", "repository": "X", "git": {"ref": "main", "folder": "F"}}]}`, false, false, 1},
	{"sources[0].git.url", `{"repository": "OWN", "git": {"ref": "main"}, "sources": [{"path": "a", "git": {"url": "X", "ref": "main", "folder": "F"}}]}`, false, true, 1},
	{"sources[0].repository of a chart", `{"repository": "OWN", "git": {"ref": "main"}, "sources": [{"path": "a", "repository": "X", "chart": "F"}]}`, true, false, 1},
	{"sources[0].url", `{"repository": "OWN", "git": {"ref": "main"}, "sources": [{"path": "a", "url": "X", "chart": "F"}]}`, true, true, 1},
	{"helm.repository", `{"helm": {"repository": "X", "chart": "F"}}`, true, false, 0},
	{"helm.url", `{"helm": {"url": "X", "chart": "F"}}`, true, true, 0},
	{"helm.repository of a Git repository", `{"helm": {"repository": "X", "git": {"ref": "main", "folder": "F"}}}`, false, false, 0},
	{"helm.git.url", `{"helm": {"git": {"url": "X", "ref": "main", "folder": "F"}}}`, false, true, 0},
}

// declarers are the calls that declare a spec in project shop, with the cluster and the
// service that follows it.
var declarers = []struct{ name, procedure, request, service string }{
	{"a service", "Services/Apply", `{"ref": {"cluster": "edge-shop", "name": "NAME"}, "spec": SPEC}`, "NAME"},
	{"a changed service", "Services/Update", `{"ref": {"cluster": "edge-shop", "name": "NAME"}, "spec": SPEC, "fields": ["repository", "git", "sources", "helm"]}`, "NAME"},
	{"a global service", "GlobalServices/Apply", `{"name": "NAME", "settings": {"project": "shop", "tags": {"tier": "dev"}}, "spec": SPEC}`, "NAME"},
	{"a managed namespace", "ManagedNamespaces/Apply", `{"name": "NAME", "settings": {"project": "shop", "tags": {"tier": "dev"}}, "spec": SPEC}`, "NAME-core"},
}

// boundTo returns the id of the repository of a service's source.
func (b *tableBed) boundTo(service string, at int) string {
	b.t.Helper()
	out := ""
	eventually.For(b.t, time.Minute, service+" follows its sources", func() error {
		if g, err := b.Parts().Store.GlobalByName(b.t.Context(), service); err == nil {
			if state, err := b.Parts().Store.TargetState(b.t.Context(), g.ID); err != nil || state.Pending {
				return fmt.Errorf("the last change has not reached all clusters: %v", err)
			}
		}
		s, _, err := b.Parts().Fleet.Declared(b.t.Context(), fleet.Ref{Cluster: "edge-shop", Name: service})
		if err != nil {
			return err
		}
		if places := s.Follows(); at < len(places) {
			out = places[at].RepositoryID
			return nil
		}
		return fmt.Errorf("it follows %v", s.Follows())
	})
	return out
}

// Every field that names a repository, of every call that declares a spec, is bound to
// what its writer may name, and stays bound whatever others register later.
func TestEveryReferenceIsBoundWhenItIsWritten(t *testing.T) {
	t.Parallel()
	b := newBindingsBed(t)
	b.must("Clusters/Update", `{"name": "edge-shop", "setTags": true, "tags": {"tier": "dev"}}`)
	b.person("reader", `{"project": "shop"}`, "write", "git")
	b.must("Bindings/Create", `{"subjectKind": "user", "subject": "reader@example.com", "actions": ["read"], "place": {"project": "lab"}}`)
	b.register("owner", "shop", "own", "git", "http://127.0.0.1:1/own")
	n := 0
	for _, d := range declarers {
		for _, r := range references {
			n++
			b.t.Run(d.name+" "+r.field, func(t *testing.T) {
				(&referenceBed{tableBed: &tableBed{Hub: b.Hub, t: t, bearers: b.bearers, ids: b.ids, client: b.client}, n: n, helm: r.helm, byURL: r.byURL, at: r.at,
					spec: strings.ReplaceAll(r.spec, "OWN", "own"), procedure: d.procedure, request: d.request, service: d.service}).run()
			})
		}
	}
}

// referenceBed is one field of one call.
type referenceBed struct {
	*tableBed
	n                                 int
	helm, byURL                       bool
	at                                int
	spec, procedure, request, service string
}

func (b *tableBed) register(who, project, name, kind, url string) string {
	b.t.Helper()
	return b.ok(who, "Repositories/Create", fmt.Sprintf(`{"name": %q, "project": %q, "type": %q, "url": %q}`, name, project, kind, url))["id"].(string)
}

// declare writes the spec with a reference, and another part of the repository as folder.
func (b *referenceBed) declare(who, name, reference, folder string) (int, string) {
	b.t.Helper()
	spec := strings.NewReplacer(`"X"`, quoted(reference), `"F"`, quoted(folder)).Replace(b.spec)
	if b.procedure == "Services/Update" {
		// What is changed is there already.
		first := strings.NewReplacer("NAME", name, "SPEC", `{"repository": "own", "git": {"ref": "main"}}`).Replace(declarers[0].request)
		b.as(who, "Services/Create", first)
	}
	status, answer := b.as(who, b.procedure, strings.NewReplacer("NAME", name, "SPEC", spec).Replace(b.request))
	return status, fmt.Sprint(answer["message"])
}

func (b *referenceBed) run() {
	kind := "git"
	if b.helm {
		kind = "helm"
	}
	name := func(of string) string { return fmt.Sprintf("%s-%d", of, b.n) }
	url := func(of string) string { return fmt.Sprintf("http://127.0.0.1:1/%s-%d", of, b.n) }
	refer := func(of string) string {
		if b.byURL {
			return url(of)
		}
		return name(of)
	}
	bound := func(service string) string { return b.boundTo(strings.Replace(b.service, "NAME", service, 1), b.at) }
	wrote := func(who, service, reference, folder string) {
		b.t.Helper()
		if status, message := b.declare(who, service, reference, folder); status != http.StatusOK {
			b.t.Fatalf("%s writes %s: %d: %s", who, reference, status, message)
		}
	}
	refused := func(who, service, reference string) {
		b.t.Helper()
		if status, message := b.declare(who, service, reference, "web"); status != http.StatusBadRequest || strings.Contains(message, "lab") {
			b.t.Errorf("%s writes %s: %d: %s", who, reference, status, message)
		}
	}

	// The project's own, and one of others with the same URL that comes first by name.
	own := b.register("owner", "shop", name("mine"), kind, url("mine"))
	b.register("mallory", "lab", name("a-first"), kind, url("mine"))
	wrote("owner", name("mine"), refer("mine"), "web")
	if is := bound(name("mine")); is != own {
		b.t.Fatalf("it is bound to %s, want the project's own %s", is, own)
	}
	// Taken since: neither the same again nor a change goes elsewhere.
	b.register("owner", "shop", name("a-second"), kind, url("mine"))
	for _, folder := range []string{"web", "api"} {
		wrote("owner", name("mine"), refer("mine"), folder)
		if is := bound(name("mine")); is != own {
			b.t.Errorf("after others registered the URL it is bound to %s, want %s", is, own)
		}
	}
	// It cannot be deleted, so its name cannot be taken.
	if status, answer := b.as("owner", "Repositories/Delete", fmt.Sprintf(`{"name": %q}`, name("mine"))); status != http.StatusConflict || !strings.Contains(fmt.Sprint(answer["message"]), name("mine")) {
		b.t.Errorf("deleting what it is bound to: %d: %v", status, answer["message"])
	}

	// Another project's, by who may not read it and by who may.
	theirs := b.register("mallory", "lab", name("theirs"), kind, url("theirs"))
	switch {
	case b.byURL && b.helm:
		for _, who := range []string{"owner", "reader"} {
			wrote(who, name("theirs-"+who), refer("theirs"), "web")
			if is := bound(name("theirs-" + who)); is == theirs || is == "" {
				b.t.Errorf("the URL that only others registered is bound to %s", is)
			}
		}
	case b.byURL:
		refused("owner", name("theirs"), refer("theirs"))
		refused("reader", name("theirs"), refer("theirs"))
	default:
		refused("owner", name("theirs"), refer("theirs"))
		wrote("reader", name("theirs"), refer("theirs"), "web")
		if is := bound(name("theirs")); is != theirs {
			b.t.Errorf("a name that the writer may read is bound to %s, want %s", is, theirs)
		}
		wrote("owner", name("theirs"), refer("theirs"), "web") // as it is
		refused("owner", name("theirs"), refer("mine-not"))
	}

	// Nobody's at first, and registered by others since.
	if b.byURL && b.helm {
		wrote("owner", name("free"), refer("free"), "web")
		before := bound(name("free"))
		b.register("mallory", "lab", name("free"), kind, url("free"))
		for _, folder := range []string{"web", "api"} {
			wrote("owner", name("free"), refer("free"), folder)
			if is := bound(name("free")); is != before {
				b.t.Errorf("it was bound to %s and is to %s", before, is)
			}
		}
		// Registered by the project itself, it is taken: the hub never could read the URL.
		mine := b.register("owner", "shop", name("free-mine"), kind, url("free"))
		wrote("owner", name("free"), refer("free"), "api")
		if is := bound(name("free")); is != mine {
			b.t.Errorf("the project's own registration is not taken: %s, want %s", is, mine)
		}
	} else {
		refused("owner", name("free"), refer("free"))
	}

	// Deleted and taken again: the other one is bound anew, with rights.
	b.register("owner", "shop", name("gone"), kind, url("gone"))
	b.ok("owner", "Repositories/Delete", fmt.Sprintf(`{"name": %q}`, name("gone")))
	taken := b.register("mallory", "lab", name("gone"), kind, url("gone"))
	if status, _ := b.declare("owner", name("gone"), refer("gone"), "web"); status == http.StatusOK {
		if is := bound(name("gone")); is == taken {
			b.t.Error("a name that others took is bound without the right to read it")
		}
	}

	// Computed names of what the hub follows by itself.
	if !b.byURL {
		sum := sha256.Sum256([]byte(url("free")))
		hash := hex.EncodeToString(sum[:8])
		for _, computed := range []string{"charts-" + hash, "/charts/" + hash, "followed-" + hash, "/followed/" + hash} {
			refused("owner", name("computed"), computed)
		}
	}
}

func quoted(text string) string {
	out, _ := json.Marshal(text)
	return string(out)
}
