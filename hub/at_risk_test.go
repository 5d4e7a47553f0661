package hub_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/axle-cd/axle/hub"
	"github.com/axle-cd/axle/hub/hubtest"
)

// What is older than the rules goes on working, and is listed with the command that
// settles it. Words that tenants chose are single words of the command.
func TestWhatIsOlderThanItsRuleIsListed(t *testing.T) {
	url := hubtest.Postgres(t)
	h := hubtest.New(t, hubtest.Config{Hub: hub.Config{DatabaseURL: url, KeyFile: filepath.Join(t.TempDir(), "hub.key"), AllowHTTPUpstreams: true}})
	b := &tableBed{Hub: h, t: t, bearers: map[string]string{"admin": h.AdminToken}, client: http.DefaultClient}
	list := func() (lines []string, commands map[string]string) {
		t.Helper()
		answer := b.must("Hub/AtRisk", `{}`)
		commands = map[string]string{}
		risks, _ := answer["risks"].([]any)
		for _, one := range risks {
			r := one.(map[string]any)
			lines = append(lines, fmt.Sprint(r["kind"], " ", r["object"]))
			commands[lines[len(lines)-1]] = fmt.Sprint(r["command"])
		}
		return lines, commands
	}
	for _, name := range []string{"edge-1", "edge-2", "edge-3", "edge-4"} {
		b.must("Clusters/Create", `{"name": "`+name+`", "tags": {"tier": "prod"}}`)
	}
	b.must("Repositories/Create", `{"name": "fleet", "url": "http://127.0.0.1:1/fleet"}`)
	b.must("Groups/Create", `{"name": "old"}`)
	b.must("Groups/Create", `{"name": "new"}`)
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if lines, _ := list(); len(lines) != 0 {
		t.Fatalf("a new hub has at risk: %q", lines)
	}
	for _, statement := range []string{
		`UPDATE clusters SET admin_tags = '{}', tags = '{"a b":"$(touch it)","tier":"x=1,y=''2''"}', former_tags = '{"a b":"$(touch it)","tier":"x=1,y=''2''"}' WHERE name = 'edge-1'`,
		`UPDATE clusters SET handle = 'gone' WHERE name = 'edge-2'`,
		`UPDATE clusters SET handle = 'edge-2' WHERE name = 'edge-3'`,
		`UPDATE clusters SET handle = 'mgmt' WHERE name = 'edge-4'`,
		`UPDATE user_groups SET name = 'kubeadm:cluster-admins' WHERE name = 'old'`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	lines, commands := list()
	want := []string{"group group kubeadm:cluster-admins", "handle cluster edge-3", "handle cluster edge-4", "tag cluster edge-1"}
	if !slices.Equal(lines, want) {
		t.Errorf("at risk are %q, want %q", lines, want)
	}
	words, err := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(commands["tag cluster edge-1"], "axle", `printf '%s\n'`, 1)).Output()
	if err != nil || string(words) != "clusters\nupdate\nedge-1\n--tag\na b=$(touch it)\n--tag\n\"tier=x=1,y='2'\"\n" {
		t.Errorf("the words of %s are %q, %v", commands["tag cluster edge-1"], words, err)
	}
	// Each is settled by what its command calls.
	b.must("Clusters/Update", `{"name": "edge-1", "setTags": true, "tags": {"a b": "$(touch it)", "tier": "x=1,y='2'"}}`)
	b.must("Clusters/Update", `{"name": "edge-3", "handle": "edge-3"}`)
	b.must("Clusters/Update", `{"name": "edge-4", "handle": "edge-4"}`)
	b.must("Groups/Delete", `{"name": "kubeadm:cluster-admins"}`)
	if lines, _ := list(); len(lines) != 0 {
		t.Errorf("settled, there are still %q", lines)
	}
	if answer := b.must("Hub/AtRisk", `{"limit": 1}`); answer["total"] != nil {
		t.Errorf("%v", answer)
	}
}
