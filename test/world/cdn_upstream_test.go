package world_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/world"
)

// What upstreams do.
var _ = add(map[string]scenario{
	"upstream_down_for_the_whole_run": {play: upstreamDown},
	"upstream_failing":                {play: failing, config: world.Config{Git: gitserver.Config{Hosts: len(faults)}}, allow: attempts()},
	"upstream_429_retry_after":        {play: tooMany},
	"upstream_hanging":                {play: hanging},
	"dns_failing":                     {play: dnsFailing},
	"expired_certificate":             {play: expiredCertificate, config: world.Config{Git: gitserver.Config{TLS: true}}},
	"link_local_url":                  {play: refusedAddress("http://169.254.169.254/latest.git", "http://[fe80::1]/x.git")},
	"loopback_url":                    {play: loopback},
})

// faults are what upstreams fail with, by the names of their repositories. Each is another
// host to the hub, which leaves a host alone that fails.
var faults = []struct {
	repo  string
	fault gitserver.Fault
	says  []string
}{
	{"unauthorized", gitserver.Fault{Status: http.StatusUnauthorized}, []string{"credentials"}},
	{"missing", gitserver.Fault{Status: http.StatusNotFound}, []string{"404"}},
	{"broken", gitserver.Fault{Status: http.StatusInternalServerError}, []string{"500"}},
	{"garbage", gitserver.Fault{Garbage: true}, nil},
	{"portal", gitserver.Fault{Body: "<html>please sign in</html>\n"}, nil},
	{"garbage-pack", gitserver.Fault{Only: gitserver.Fetch, Garbage: true}, nil},
	{"pack-bomb", gitserver.Fault{Only: gitserver.Fetch, Bomb: 4 << 20}, nil},
	{"cut-pack", gitserver.Fault{Only: gitserver.Fetch, CutAt: 200}, nil},
	{"reset", gitserver.Fault{Reset: true}, nil},
	{"elsewhere", gitserver.Fault{}, []string{"redirect"}}, // to another server, which is known later
}

// attempts allows those of new repositories that brought nothing.
func attempts() world.Allowance {
	clones := map[string]int{}
	for _, f := range faults {
		clones["new-"+f.repo] = 9
	}
	return world.Allowance{Clones: clones}
}

// failing has upstreams that fail for a while, each with another fault: existing content is
// served, also to new clusters, a new repository reports the problem, and both recover. The
// server that one redirects to must not get a request.
func failing(s *cdn) {
	other, err := gitserver.Start(s.t.Context(), gitserver.Config{})
	s.must(err)
	s.closers = append(s.closers, func() { _ = other.Close() })
	s.agent("edge")
	for host, f := range faults {
		s.must(s.Git.Create(s.t.Context(), f.repo))
		s.push(f.repo, "app", 1)
		s.add(f.repo, s.Git.URLAt(host, f.repo))
		s.service("edge", f.repo, f.repo, "app")
		s.must(s.Git.Create(s.t.Context(), "new-"+f.repo))
		s.push("new-"+f.repo, "app", 1, bulk())
	}
	each := func(do func(host int, repo string, says []string)) {
		for host, f := range faults {
			do(host, f.repo, f.says)
		}
	}
	each(func(_ int, repo string, _ []string) { s.arrives("edge/"+repo, 1) })
	for _, f := range faults {
		if f.repo == "elsewhere" {
			f.fault.Redirect = "http://" + other.Addr()
		}
		s.Git.SetFault(f.repo, f.fault)
		s.Git.SetFault("new-"+f.repo, f.fault)
		s.push(f.repo, "app", 2, bulk())
	}
	each(func(_ int, repo string, says []string) { s.fails(repo, says...) })
	each(func(host int, repo string, _ []string) {
		s.add("new-"+repo, s.Git.URLAt(host, "new-"+repo))
		s.service("edge", "new-"+repo, "new-"+repo, "app")
	})
	each(func(_ int, repo string, says []string) { s.fails("new-"+repo, says...) })
	s.agent("late")
	each(func(_ int, repo string, _ []string) { s.service("late", repo, repo, "app") })
	each(func(_ int, repo string, _ []string) { s.arrives("late/"+repo, 1) })
	s.polls("edge", 3)
	each(func(_ int, repo string, _ []string) {
		s.Git.SetFault(repo, gitserver.Fault{})
		s.Git.SetFault("new-"+repo, gitserver.Fault{})
	})
	each(func(_ int, repo string, _ []string) {
		s.heals(repo)
		s.heals("new-" + repo)
		s.arrives("edge/"+repo, 2)
	})
	if log := other.Log(""); len(log) > 0 {
		s.t.Errorf("the other server was asked: %+v", log)
	}
}

// bulk makes a pack larger than where faults cut it.
func bulk() map[string]gitserver.Content {
	text := strings.Builder{}
	for i := range 2000 {
		text.WriteString(strings.Repeat(string(rune('a'+i*7%26)), i%13) + "\n")
	}
	return map[string]gitserver.Content{"more/bulk.txt": text.String()}
}

// upstreamDown keeps the Git server down to the end: existing content is served to
// everyone, across a restart and without stored tarballs, and the hub shows since when
// it is away.
func upstreamDown(s *cdn) {
	s.simple()
	away := time.Now()
	s.must(s.Git.Down())
	s.push("fleet", "app", 2) // which nobody can know
	s.must(s.Hub.Stop(s.t.Context()))
	s.must(os.RemoveAll(filepath.Join(s.Hub.DataDir, "cache", "tarballs")))
	s.must(s.Hub.Start(s.t.Context()))
	s.fails("fleet")
	got, err := s.api.Repositories.Get(s.t.Context(), connect.NewRequest(&hubv1.GetRepositoryRequest{Name: "fleet"}))
	s.must(err)
	if since := time.UnixMicro(got.Msg.GetFailingSince()); since.Before(away) {
		s.t.Errorf("the repository fails since %v, its server is away since %v", since, away)
	}
	s.agent("late")
	s.service("late", "app", "fleet", "app")
	s.arrives("late/app", 1)
	s.wants("late/app", 1)
	s.wants("edge/app", 1)
}

// tooMany has a server that wants to be left alone for 7 s after each request,
// which the hub must do.
func tooMany(s *cdn) {
	s.simple()
	const asked = 7 * time.Second
	s.Git.SetFault("fleet", gitserver.TooMany(asked))
	since := time.Now()
	s.fails("fleet", "429")
	s.requests("fleet", gitserver.Connect, 2)
	var last time.Time
	for _, e := range s.Git.Log("fleet") {
		if e.Kind != gitserver.Connect || e.Start.Before(since) {
			continue
		}
		if gap := e.Start.Sub(last); !last.IsZero() && gap < asked {
			s.t.Errorf("asked again after %v of the %v that it was told to wait", gap, asked)
		}
		last = e.Start
	}
	s.Git.SetFault("fleet", gitserver.Fault{})
	s.push("fleet", "app", 2)
}

// hanging has one repository that never answers, first to listings, then to fetches,
// and another one that must not wait for it.
func hanging(s *cdn) {
	s.simple()
	s.upstream("slow")
	s.service("edge", "slow", "slow", "app")
	s.arrives("edge/slow", 1)
	s.Git.SetFault("slow", gitserver.Fault{Hang: true})
	s.push("slow", "app", 2)
	s.push("fleet", "app", 2)
	s.arrives("edge/app", 2)
	s.Git.SetFault("slow", gitserver.Fault{Only: gitserver.Fetch, Hang: true})
	s.running("slow")
	s.push("fleet", "app", 3)
	s.arrives("edge/app", 3)
	s.Git.SetFault("slow", gitserver.Fault{})
}

// dnsFailing adds a repository whose server has no address, and another one that must
// not be affected.
func dnsFailing(s *cdn) {
	s.simple()
	s.add("nowhere", "https://no-such-host.invalid/app.git")
	s.service("edge", "nowhere", "nowhere", "app")
	s.wants("edge/nowhere", 0)
	s.fails("nowhere", "no-such-host.invalid")
	s.push("fleet", "app", 2)
}

// expiredCertificate lets the server's certificate run out and be renewed.
func expiredCertificate(s *cdn) {
	s.credentials = &hubv1.RepositoryCredentials{CaPem: s.Git.CA()}
	s.simple()
	s.Git.Expire(true)
	s.push("fleet", "app", 2)
	s.fails("fleet", "certificate")
	s.agent("late")
	s.service("late", "app", "fleet", "app")
	s.arrives("late/app", 1)
	s.Git.Expire(false)
	s.arrives("edge/app", 2)
}

// refusedAddress adds repositories with addresses that no tenant may make the
// hub dial.
func refusedAddress(urls ...string) func(*cdn) {
	return func(s *cdn) {
		s.simple()
		for i, url := range urls {
			name := fmt.Sprintf("inside-%d", i)
			if err := s.tryAdd(name, url); err != nil {
				s.t.Logf("%s is refused at once: %v", url, err)
				continue
			}
			s.service("edge", name, name, "app")
			s.wants("edge/"+name, 0)
			s.fails(name, "--allow-upstream-cidrs")
		}
		s.push("fleet", "app", 2)
	}
}

// loopback adds repositories on the hub's own machine, on the loopback address
// that is not allowed, where a listener waits for what must not come.
func loopback(s *cdn) {
	var lc net.ListenConfig
	listener, err := lc.Listen(s.t.Context(), "tcp", "[::1]:0")
	s.must(err)
	s.closers = append(s.closers, func() { _ = listener.Close() })
	var calls atomic.Int64
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			calls.Add(1)
			_ = conn.Close()
		}
	}()
	port := listener.Addr().(*net.TCPAddr).Port
	refusedAddress(fmt.Sprintf("http://[::1]:%d/x.git", port), fmt.Sprintf("https://[0:0:0:0:0:0:0:1]:%d/x.git", port), fmt.Sprintf("ssh://git@[::1]:%d/x.git", port))(s)
	if n := calls.Load(); n > 0 {
		s.t.Errorf("the hub dialled its own machine %d times", n)
	}
}
