package store_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unlisted are the files of the hub with timers whose work sends the database
// no query, or none about the fleet, with the reason.
var unlisted = map[string]string{
	"fleet/watch/run.go":                "checks the token of each open stream, which grows with the people who watch; the rest is in memory",
	"backup/keeper.go":                  "one row; a backup reads all tables, at the times that the administrator sets",
	"console/liveapi/logs.go":           "ends an expression that takes too long, once for each search of logs",
	"behind.go":                         "asks other replicas",
	"application/rotate.go":             "secrets that are being replaced, and Secrets that could not be delivered",
	"config/migrate.go":                 "a migration between backends while it is under way, some documents at a time",
	"event/audit/export.go":             "rows of the audit log after a cursor",
	"event/audit/log.go":                "the end of the audit log",
	"event/audit/run.go":                "the ends of the audit log: a page of the oldest, the newest",
	"event/catchup.go":                  "one request",
	"gitcache/gitagent/gather.go":       "one repository",
	"gitcache/gitagent/guard.go":        "the guard of child processes",
	"gitcache/gitagent/guard_line.go":   "the guard of child processes",
	"gitcache/gitagent/read.go":         "one repository's disk",
	"gitcache/repoagent/scheduler.go":   "waits",
	"gitcache/placer.go":                "repositories and their leases, which each replica decides by",
	"gitcache/mirror/objects.go":        "one repository's processes",
	"gitcache/upstream/git/ssh.go":      "one connection",
	"gitcache/upstream/wire/request.go": "one request",
	"hubtest/pools.go":                  "no part of a hub: keeps the pools of a test full",
	"identity/agentkey/signer.go":       "the signing keys, one each 90 days",
	"login/declared/declared.go":        "reads files",
	"oidc/end.go":                       "what the feed reported of people and sessions, by indexes; the notices and sign-ins that are due, a page at a time",
	"peer/lease.go":                     "one row a lease",
	"peer/members.go":                   "the hub's replicas",
	"peer/mirror.go":                    "one copy",
	"peer/tarball.go":                   "one copy",
	"replicas.go":                       "tells other replicas what is in memory",
	"setuptoken/setuptoken.go":          "whether there is a user, until there is one",
	"tunnel/authproxy/streams.go":       "one stream",
	"tunnel/peers.go":                   "tells other replicas what is in memory",
	"tunnel/sweep.go":                   "tunnels in memory",
	"tunnel/tunnels.go":                 "tunnels in memory",
}

// Whoever adds a timer must list its queries, or state that none grows with the
// fleet.
func TestEveryTimerOfTheHubIsListed(t *testing.T) {
	listed := map[string]bool{}
	for _, p := range periodics {
		listed[p.file] = true
	}
	found := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"After", "AfterFunc", "NewTicker", "NewTimer", "Tick"}, call.Sel.Name) {
				return true
			}
			// Of times and contexts, not of clocks.
			if x, of := call.X.(*ast.Ident); of && (x.Name == "time" || strings.EqualFold(x.Name, "clock")) {
				found[filepath.ToSlash(path)[len("../"):]] = true
			}
			if x, of := call.X.(*ast.SelectorExpr); of && strings.EqualFold(x.Sel.Name, "clock") {
				found[filepath.ToSlash(path)[len("../"):]] = true
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for file := range found {
		if !listed[file] && unlisted[file] == "" {
			t.Errorf("hub/%s has a timer: list what it asks in periodics, or in unlisted why that does not grow with the fleet", file)
		}
	}
	for file := range unlisted {
		if !found[file] {
			t.Errorf("hub/%s has no timer any more: take it out of unlisted", file)
		}
	}
	for file := range listed {
		if !found[file] {
			t.Errorf("hub/%s has no timer: a periodic names the file with the timer", file)
		}
	}
}
