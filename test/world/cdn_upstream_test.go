package world_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/world"
)

// What upstreams do.
var _ = add(map[string]scenario{
	"upstream_down_for_the_whole_run": {play: upstreamDown},
	"upstream_401":                    failing(gitserver.Fault{Status: http.StatusUnauthorized}, "credentials"),
	"upstream_404":                    failing(gitserver.Fault{Status: http.StatusNotFound}, "404"),
	"upstream_429_retry_after":        failing(gitserver.Fault{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"7"}}}, "429"),
	"upstream_500":                    failing(gitserver.Fault{Status: http.StatusInternalServerError}, "500"),
	"upstream_garbage":                failing(gitserver.Fault{Body: "<html>please sign in</html>\n"}),
	"upstream_cut_mid_pack":           failing(gitserver.Fault{Only: gitserver.Fetch, CutAt: 200}),
	"upstream_reset":                  failing(gitserver.Fault{Reset: true}),
})

// failing is a scenario in which upstream fails for a while with a fault: what
// is there is served, also to those who come new, a new repository says what is
// wrong, and both heal.
func failing(f gitserver.Fault, says ...string) scenario {
	return scenario{play: func(s *cdn) {
		s.simple()
		s.Git.SetFault("", f)
		s.push("fleet", "app", 2, bulk())
		s.fails("fleet", says...)
		s.must(s.Git.Create(s.t.Context(), "fresh"))
		s.push("fresh", "app", 1, bulk())
		s.add("fresh", s.Git.URL("fresh"), nil)
		s.service("edge", "fresh", "fresh", "app")
		s.fails("fresh", says...)
		s.agent("late")
		s.service("late", "app", "fleet", "app")
		s.arrives("late/app", 1)
		s.polls("edge", 3)
		s.Git.SetFault("", gitserver.Fault{})
		s.heals("fleet")
		s.heals("fresh")
		s.arrives("edge/app", 2)
	}, allow: world.Allowance{Clones: map[string]int{"fresh": 9}}} // attempts that brought nothing
}

// bulk makes a pack larger than where faults cut it.
func bulk() map[string]gitserver.Content {
	text := strings.Builder{}
	for i := range 2000 {
		text.WriteString(strings.Repeat(string(rune('a'+i*7%26)), i%13) + "\n")
	}
	return map[string]gitserver.Content{"more/bulk.txt": text.String()}
}

// upstreamDown keeps the Git server away to the very end: what is there is
// served to everyone, over a restart and without stored tarballs.
func upstreamDown(s *cdn) {
	s.simple()
	s.must(s.Git.Down())
	s.push("fleet", "app", 2) // which nobody can know
	s.must(s.Hub.Stop(s.t.Context()))
	s.must(os.RemoveAll(filepath.Join(s.Hub.DataDir, "cache", "tarballs")))
	s.must(s.Hub.Start(s.t.Context()))
	s.fails("fleet")
	s.agent("late")
	s.service("late", "app", "fleet", "app")
	s.arrives("late/app", 1)
	s.wants("late/app", 1)
	s.wants("edge/app", 1)
}
