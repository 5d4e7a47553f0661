package attack_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/test/attack"
)

// quick are the attacks that run with the tests, some of each class: those without an API
// server that need little time. make attack, a part of make soak, plays all.
var quick = []string{"chart-url", "computed-name", "repository-deleted-and-taken", "repository-of-a-sops-backend", "kelvin-sign", "unverified-address", "token-of-another-application", "dear-schema", "dear-liquid"}

// TestAttacks plays some attacks of each class on one hub, and then those that need only the
// API as if the hub were somebody's, who gets it back as it was.
func TestAttacks(t *testing.T) {
	var attacks []attack.Attack
	for _, name := range quick {
		attacks = append(attacks, named(t, name))
	}
	target, err := attack.Start(t.Context(), attacks, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := target.Close(); err != nil {
			t.Error(err)
		}
	})
	var out strings.Builder
	if err := attack.Run(t.Context(), &out, target, attacks); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	if !strings.Contains(out.String(), "withstood") {
		t.Errorf("nothing was withstood:\n%s", out.String())
	}
	// What has no name of this run can be played again.
	if status := get(t, target, "sealed-values"); status != http.StatusNotFound {
		t.Errorf("the repository of the backend is still there: %d", status)
	}
	// What cannot be deleted afterwards is an error.
	out.Reset()
	if err := attack.Run(t.Context(), &out, attack.Somebodys(target.URL, target.Token), attack.All); err != nil {
		t.Errorf("as a hub of somebody's: %v\n%s", err, out.String())
	}
	if strings.Count(out.String(), "withstood") < 10 {
		t.Errorf("few attacks were played on a hub of somebody's:\n%s", out.String())
	}
}

// get asks a hub for a repository, and returns the status of the answer.
func get(t *testing.T, target *attack.Target, repository string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target.URL+"/axle.hub.v1.Repositories/Get", strings.NewReader(`{"name": "`+repository+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+target.Token)
	answer, err := target.Client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

func named(t *testing.T, name string) attack.Attack {
	t.Helper()
	for _, a := range attack.All {
		if a.Name == name {
			return a
		}
	}
	t.Fatalf("there is no attack %s", name)
	return attack.Attack{}
}

// Each attack has a class, a name of its own and a story, and each class an attack.
func TestAttacksAreListed(t *testing.T) {
	names, classes := map[string]bool{}, map[string]bool{}
	for _, a := range attack.All {
		if names[a.Name] || a.Play == nil || !strings.HasSuffix(a.Story, ".") {
			t.Errorf("%+v: a name twice, no play or no story", a)
		}
		names[a.Name], classes[a.Class] = true, true
	}
	for _, class := range strings.Fields("A1 A2 A3 B1 B2 B3 C1 C2 C3 C4") {
		if !classes[class] {
			t.Errorf("no attack of class %s", class)
		}
		// The one of B3 takes 24 s.
		if !slices.ContainsFunc(attack.All, func(a attack.Attack) bool {
			return a.Class == class && (a.Needs == attack.API || slices.Contains(quick, a.Name))
		}) && class != "B3" {
			t.Errorf("make test plays no attack of class %s", class)
		}
	}
}

// The page for people who attack their own hub names every attack.
func TestThePageNamesEveryAttack(t *testing.T) {
	page, err := os.ReadFile("../../docs/howto/attack-your-hub.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range attack.All {
		if !strings.Contains(string(page), "`"+a.Name+"`") {
			t.Errorf("the page does not name %s", a.Name)
		}
	}
}

// A hub that does not withstand, cannot be attacked, or is left unclean fails the run, and
// each says why. The hub here answers everything with one text.
func TestVerdicts(t *testing.T) {
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, ".Groups/Delete") {
			http.Error(w, "it stays", http.StatusConflict)
		}
	}))
	t.Cleanup(hub.Close)
	for name, want := range map[string]string{
		"group-names": "CAPTURED: members of the group system:masters go to clusters as such; FAILED: cleaning up: Groups/Delete", "repository-names": "CAPTURED: there is a repository with the name", "chart-url": "not played: it needs the bed",
	} {
		var out strings.Builder
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := attack.Run(ctx, &out, attack.Somebodys(hub.URL, "token"), []attack.Attack{named(t, name)})
		cancel()
		if bad := !strings.Contains(want, "needs the bed"); !strings.Contains(out.String(), want) || (err != nil) != bad {
			t.Errorf("%s: %v: %s", name, err, out.String())
		}
	}
}
