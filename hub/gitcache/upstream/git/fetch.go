package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache/gitexec"
	"github.com/axle-cd/axle/hub/gitcache/references"
	"github.com/axle-cd/axle/internal/gitobject"
)

// Repository is the local repository that receives what a Server sends. How it
// stores that is its own matter.
type Repository interface {
	// Dir returns the folder in which git fetches.
	Dir() string
	// FetchFailed tells the repository that a fetch into it ended with an error,
	// and may have left parts of packs.
	FetchFailed(err error)
	// StoreLFS stores an LFS object, and reports whether its bytes match the
	// pointer; when they do not, it stores nothing.
	StoreLFS(p references.Pointer, body io.Reader) (matches bool, err error)
}

// Fetch fetches the objects with the given ids, and all they need, from the
// server into a repository. It changes no ref. Errors are coded, without secrets.
func (s *Server) Fetch(ctx context.Context, to Repository, ids []string) error {
	ctx, cancel := context.WithTimeout(ctx, s.git.config.FetchTimeout)
	defer cancel()
	for _, id := range ids {
		if !gitobject.IsID(id) {
			return fmt.Errorf("fetch: %q is not an object id", id)
		}
	}
	// With ids, git needs no second listing; the ids were listed a moment ago.
	c := gitexec.Command{Dir: to.Dir(), Env: []string{"GIT_DIR=."}, Stdin: strings.NewReader(strings.Join(ids, "\n") + "\n"),
		Args: []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance", "--stdin", "--"}}
	var err error
	if s.loc.Scheme == "ssh" {
		err = s.fetchSSH(ctx, c)
	} else {
		err = s.fetchHTTP(ctx, c)
	}
	if err == nil {
		return nil
	}
	to.FetchFailed(err)
	return s.explain(ctx, err)
}

// fetchHTTP runs git through the gateway. The gateway's error is better than
// git's.
func (s *Server) fetchHTTP(ctx context.Context, c gitexec.Command) error {
	c.Conns = &gitexec.Conns{}
	session, proxyURL, end := s.git.gateway.admit(s, c.Conns)
	defer end()
	c.Env = append(append(c.Env, "GIT_ALLOW_PROTOCOL=http"), configEnv([]string{
		"http.proxy", proxyURL,
		"http.proxyAuthMethod", "basic",
		"http.followRedirects", "initial",
		"http.lowSpeedLimit", "100",
		"http.lowSpeedTime", fmt.Sprint(max(1, int(s.git.config.StallTimeout.Seconds()))),
		"http.userAgent", "git/axle",
		// Not every server accepts a long request in chunks.
		"http.postBuffer", "33554432",
		// When a reused connection closes without an answer, curl repeats the
		// request at once, and upstream would see two fetches.
		"http.extraHeader", "Connection: close",
		"credential.helper", "",
		"core.askPass", "/bin/false",
		"protocol.version", "2",
	})...)
	c.Args = append(c.Args, s.asGit(s.loc.Path))
	err := s.git.config.Runner.Run(ctx, c)
	if better := session.reason(); err != nil && better != nil && context.Cause(ctx) == nil {
		return errors.Join(better, err)
	}
	return err
}

// configEnv passes configuration without arguments: the gateway's token is a
// secret, and every user can read arguments.
func configEnv(pairs []string) []string {
	env := []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(pairs)/2)}
	for i := 0; i+1 < len(pairs); i += 2 {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i/2, pairs[i]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i/2, pairs[i+1]))
	}
	return env
}
